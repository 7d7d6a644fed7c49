#pragma once
// `linac plan prices`: the price book as a table, as JSON, or a user's own checked.

#include <CLI/CLI.hpp>

namespace linac::cli {

void add_plan_prices(CLI::App& plan);

}  // namespace linac::cli
