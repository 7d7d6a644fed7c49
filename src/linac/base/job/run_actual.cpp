#include "linac/base/job/run_actual.h"

#include "linac/base/job/run_states.h"

namespace linac::job {
namespace {

std::optional<double> step_of(const RunStart& start) {
  if (start.accounts.empty()) return std::nullopt;
  double seconds = 0, workers = 0;
  for (const RunAccount& account : start.accounts.back()) {
    const auto steps = static_cast<double>(account.global_step - start.views.front().global_step);
    if (steps <= 0) continue;
    for (const Phase phase : kStepPhases) seconds += account.wall[static_cast<size_t>(phase)] / steps;
    ++workers;
  }
  return workers > 0 ? std::optional(seconds / workers) : std::nullopt;
}

std::optional<double> jitter_of(const RunStart& start) {
  if (start.accounts.empty()) return std::nullopt;
  double sum = 0, workers = 0;
  for (const RunAccount& account : start.accounts.back()) {
    const double scatter = job::scatter(account.step_time);
    if (scatter <= 0) continue;
    sum += scatter;
    ++workers;
  }
  return workers > 0 ? std::optional(sum / workers) : std::nullopt;
}

}  // namespace

RunEnergy energy_of(const RunRecord& record) {
  return energy_of(record.energies.list(), carbon_of(record.budget, record.planned));
}

RunActual actual_of(const RunRecord& record) {
  RunActual actual;
  if (record.starts.empty()) return actual;
  actual.step_s = step_of(record.starts.back());
  actual.jitter = jitter_of(record.starts.back());
  if (record.steps > 0 && !record.inputs.empty())
    actual.start_s = record.starts.front().views.front().seconds + record.inputs.front().opened_s;
  if (record.status == to_string(RunStatus::kSucceeded)) {
    double seconds = 0;
    for (const RunStart& start : record.starts) seconds += start.end() - start.begin();
    actual.hours = seconds / 3600;
    const RunEnergy energy = energy_of(record);
    actual.kwh = energy.kwh;
    actual.co2_kg = energy.co2_kg;
  }
  return actual;
}

}  // namespace linac::job
