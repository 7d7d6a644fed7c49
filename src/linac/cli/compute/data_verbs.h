#pragma once
// The verbs under `linac data` that have a file of their own.

#include <CLI/CLI.hpp>

namespace linac::cli {

/// `linac data copy`.
void add_data_copy(CLI::App& data);
/// `linac data stats`.
void add_data_stats(CLI::App& data);
/// `linac data verify`.
void add_data_verify(CLI::App& data);

}  // namespace linac::cli
