#include "linac/physics/report/run/actual.h"

#include <fmt/format.h>

#include "linac/base/job/run_states.h"

namespace linac::report {
namespace {

std::optional<double> step_of(const RunStart& start) {
  if (start.accounts.empty()) return std::nullopt;
  double seconds = 0, workers = 0;
  for (const RunAccount& account : start.accounts.back()) {
    const auto steps = static_cast<double>(account.global_step - start.views.front().global_step);
    if (steps <= 0) continue;
    for (const job::Phase phase : job::kStepPhases) seconds += account.wall[static_cast<size_t>(phase)] / steps;
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

std::string planned_text(const PlannedBeside& figure) {
  return fmt::format("{:.3g} ({:.3g} to {:.3g}) {}", figure.planned.middle, figure.planned.low, figure.planned.high,
                     figure.unit);
}

job::RunEnergy energy_of(const RunRecord& record) {
  return job::energy_of(record.energies.list(), job::carbon_of(record.budget, record.planned));
}

RunActual actual_of(const RunRecord& record) {
  RunActual actual;
  if (record.starts.empty()) return actual;
  actual.step_s = step_of(record.starts.back());
  actual.jitter = jitter_of(record.starts.back());
  if (record.steps > 0 && !record.inputs.empty())
    actual.start_s = record.starts.front().views.front().seconds + record.inputs.front().opened_s;
  if (record.status == job::to_string(job::RunStatus::kSucceeded)) {
    double seconds = 0;
    for (const RunStart& start : record.starts) seconds += start.end() - start.begin();
    actual.hours = seconds / 3600;
    const job::RunEnergy energy = energy_of(record);
    actual.kwh = energy.kwh;
    actual.co2_kg = energy.co2_kg;
  }
  return actual;
}

std::vector<PlannedBeside> beside_plan(const job::Planned& planned, const RunActual& actual) {
  std::vector<PlannedBeside> rows;
  const auto add = [&](const char* what, const char* unit, const std::vector<double>& interval,
                       const std::optional<double>& value, double times = 1) {
    if (interval.size() == 3 && value)
      rows.push_back({what, unit, {times * interval[0], times * interval[1], times * interval[2]}, times * *value});
  };
  add("start", "s", planned.start_s, actual.start_s);
  add("a step", "s", planned.step_s, actual.step_s);
  add("jitter", "%", planned.jitter, actual.jitter, 100);
  add("the run", "h", planned.hours, actual.hours);
  add("energy", "kWh", planned.kwh, actual.kwh);
  add("carbon dioxide", "kg", planned.co2_kg, actual.co2_kg);
  return rows;
}

}  // namespace linac::report
