#pragma once
// What `linac plan` shows: what a training would take at each place, ranked (base/plan/plan_rows.h,
// where its JSON is); as a page, as pictures and as lines of text. Pure, thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/plan_rows.h"
#include "linac/physics/report/page/named_picture.h"

namespace linac::report {

using plan::PlanRow;
struct PlanReport : plan::Ranking {};

/// "1.2 h (1.0 to 1.4)".
std::string duration_text(const plan::Estimate& seconds);
/// Of US dollars: "$12 (9.8 to 14)", "10 EUR (8.4 to 12)".
std::string money_text(const plan::Estimate& money, const plan::Rate& currency);
std::string known_money(const std::optional<plan::Estimate>& money, const plan::Rate& currency);
/// "4.2 (3.0 to 5.9)".
std::string interval_text(const plan::Estimate& value);
/// Of a part of one: "4.2 % (3.0 to 5.9)".
std::string percent_text(const plan::Estimate& part);
/// One of these, or kNotKnown.
std::string known(const std::optional<plan::Estimate>& value, std::string (*text)(const plan::Estimate&));
inline constexpr const char* kNotKnown = "–";

/// Where the time of each place goes, and time against money; few rows where there are many.
std::vector<NamedPicture> draw(const PlanReport& report);
std::string to_html(const PlanReport& report, const std::vector<NamedPicture>& pictures);

/// A table of at most `rows` rows for a terminal, and why the first one takes what it takes.
std::string to_text(const PlanReport& report, size_t rows);

}  // namespace linac::report
