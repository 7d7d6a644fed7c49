#pragma once
// The verbs of the program, one file each. A verb adds its options to the parser and runs in its callback; it reports
// failure by throwing.

#include <CLI/CLI.hpp>

#include "linac/cli/common/compute_verbs.h"

namespace linac::cli {

void add_train_verb(CLI::App& app);
void add_check_verb(CLI::App& app);
void add_generate_verb(CLI::App& app);
void add_predict_verb(CLI::App& app);
void add_simulate_verb(CLI::App& app);
void add_data_verb(CLI::App& app);
void add_cache_verb(CLI::App& app);
void add_export_verb(CLI::App& app);
void add_bench_verb(CLI::App& app);
void add_validate_verb(CLI::App& app);
void add_evaluate_verb(CLI::App& app);
void add_report_verb(CLI::App& app);
void add_models_verb(CLI::App& app);
void add_version_verb(CLI::App& app);

}  // namespace linac::cli
