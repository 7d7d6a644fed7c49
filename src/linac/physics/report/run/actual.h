#pragma once
// What came of a run, beside what was planned of it. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/plan/estimate.h"
#include "linac/physics/report/run/record.h"

namespace linac::report {

struct RunActual {
  std::optional<double> start_s;      // of the first start, to its first step
  std::optional<double> step_s;       // mean over the last start's steps and its workers, without tests and checkpoints
  std::optional<double> jitter;       // standard deviation of these steps over their mean, likewise
  std::optional<double> hours;        // of all starts, if it has come to its end
  std::optional<double> kwh, co2_kg;  // likewise
};
RunActual actual_of(const RunRecord& record);
/// Of all its starts.
job::RunEnergy energy_of(const RunRecord& record);

struct PlannedBeside {
  std::string what;  // "start", "a step", "jitter", "the run", "energy", "carbon dioxide"
  std::string unit;  // "s", "%", "h", "kWh", "kg"
  plan::Interval planned;
  double actual = 0;
  bool inside() const { return planned.low <= actual && actual <= planned.high; }
};
/// {"what", "unit", "low", "middle", "high", "actual", "inside"}
nlohmann::ordered_json to_json(const PlannedBeside& figure);
/// "8.9 (8.4 to 9.4) s"
std::string planned_text(const PlannedBeside& figure);
/// Those of which both are known.
std::vector<PlannedBeside> beside_plan(const job::Planned& planned, const RunActual& actual);

}  // namespace linac::report
