#pragma once
// What `linac study` has for other programs: Optuna, Katib, PanDA.

#include <CLI/CLI.hpp>

namespace linac::cli {

/// Adds import, export, steer, panda and evaluate to the verb `study`.
void add_foreign_studies(CLI::App& study);

}  // namespace linac::cli
