#pragma once
// How `linac bench` times a piece of work.

#include <CLI/CLI.hpp>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

namespace linac::cli {

/// Runs `work` once unmeasured and then `repeat` times. wall_s and cpu_s of a run (median, min, max), showers_per_s,
/// showers_per_cpu_s and, if `gflop_per_shower` is not 0, gflop_per_s from the medians; peak_rss_mib of the process.
nlohmann::ordered_json measure(int repeat, double showers, double gflop_per_shower, const std::function<void()>& work);

/// {"median", "min", "max"} of at least one value.
nlohmann::ordered_json spread(std::vector<double> values);

/// The most memory that the process has held so far.
double peak_rss_mib();

/// `linac bench simulate` and `linac bench observables`.
void add_shower_benches(CLI::App& bench);
void add_kernel_bench(CLI::App& bench);
void add_recurrent_bench(CLI::App& bench);
/// `linac bench models`.
void add_model_bench(CLI::App& bench);
/// `linac bench scaling`.
void add_scaling_bench(CLI::App& bench);
/// `linac bench exchange`.
void add_exchange_bench(CLI::App& bench);
/// `linac bench input`.
void add_input_bench(CLI::App& bench);
/// `linac bench audit`.
void add_audit_bench(CLI::App& bench);

}  // namespace linac::cli
