#pragma once
// The parts of the page on showers, each a piece of HTML with every text escaped. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/report/showers/ledger.h"
#include "linac/physics/report/showers/report.h"

namespace linac::report {

/// PASSED or FAILED and by how much, or that there was no gate.
std::string verdict_part(const ShowerReport& report, const Ledger& ledger);

/// The figures over all events, one a row, with the worst bin of each.
std::string main_table(const ShowerReport& report, const Ledger& ledger);

/// The distances of every observable: a row an observable, a column a distance, coloured by value / floor.
std::string distance_table(const ShowerReport& report, const Ledger& ledger);

/// All figures in bins, folded up.
std::string bins_part(const ShowerReport& report, const Ledger& ledger);

/// How to read the page.
std::string reading_part(const ShowerReport& report);

}  // namespace linac::report
