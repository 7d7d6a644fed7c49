#pragma once
// `linac plan calibration`: what was planned beside what came of it, over all runs.

#include <CLI/CLI.hpp>

namespace linac::cli {

void add_plan_calibration(CLI::App& plan);

}  // namespace linac::cli
