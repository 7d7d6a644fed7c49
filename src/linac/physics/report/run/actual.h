#pragma once
// What came of a run (base/job/run_actual.h), beside what was planned of it. Pure, thread-safe.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/run_actual.h"
#include "linac/base/plan/estimate.h"

namespace linac::report {

using job::actual_of;
using job::energy_of;
using job::RunActual;

struct PlannedBeside {
  std::string what;  // "start", "a step", "jitter", "the run", "money", "energy", "carbon dioxide"
  std::string unit;  // "s", "%", "h", "USD", "kWh", "kg"
  plan::Interval planned;
  double actual = 0;
  bool inside() const { return planned.low <= actual && actual <= planned.high; }
};
/// {"what", "unit", "low", "middle", "high", "actual", "inside"}
nlohmann::ordered_json to_json(const PlannedBeside& figure);
/// "8.9 (8.4 to 9.4) s"
std::string planned_text(const PlannedBeside& figure);
/// Those of which both are known. `money`: that the run has cost, in US dollars, as plans have it.
std::vector<PlannedBeside> beside_plan(const job::Planned& planned, const RunActual& actual,
                                       const std::optional<double>& money = {});

}  // namespace linac::report
