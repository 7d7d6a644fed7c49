#pragma once
// What came of a run, by its history (run_history.h). Pure, thread-safe.

#include <optional>

#include "linac/base/job/run_energy.h"
#include "linac/base/job/run_history.h"

namespace linac::job {

struct RunActual {
  std::optional<double> start_s;      // of the first start, to its first step
  std::optional<double> step_s;       // mean over the last start's steps and its workers, without tests and checkpoints
  std::optional<double> jitter;       // standard deviation of these steps over their mean, likewise
  std::optional<double> hours;        // of all starts, if it has come to its end
  std::optional<double> kwh, co2_kg;  // likewise
};
RunActual actual_of(const RunRecord& record);
/// Of all its starts.
RunEnergy energy_of(const RunRecord& record);

}  // namespace linac::job
