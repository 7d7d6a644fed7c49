#pragma once
// How long an epoch takes on any number of workers, from what one of them needs for a step: pure functions,
// thread-safe.
//
//   epoch = (ceil(events / (batch workers)) + lead_steps) (step_s (1 + jitter m(workers)) + exposed) + fixed_s
//
// A step is whole: the last one takes as long as the others however few events are left to it, which counts where an
// epoch has few. All workers wait for the slowest: where the times of a step scatter by a part `jitter`, normal and
// independent, the slowest of N is later than the mean by jitter times m(N), the expected maximum of N standard normal
// numbers (H. Cramér, Mathematical Methods of Statistics, 1946, section 28.6; it grows as sqrt(2 ln N)). `exposed` is
// what the sums between hosts take beyond computing (scaling.h).

#include <cstdint>
#include <vector>

#include "linac/base/plan/scaling.h"

namespace linac::plan {

/// Events, batch, workers and workers_per_host are 1 at least.
struct Epoch {
  int64_t events = 1, batch = 1;  // of the sample; of a worker in a step
  int workers = 1;                // that compute side by side: processes, GPUs, cores of a TPU
  int workers_per_host = 1;       // that sum without the link
  double step_s = 0;              // of a worker on its own, on average
  double jitter = 0;              // standard deviation of step_s, as a part of it
  double lead_steps = 0;          // steps' time that an epoch takes once: its pipeline is empty at the start
  double fixed_s = 0;             // what else an epoch takes once: a test, a checkpoint
  Link link{};
  std::vector<Update> updates{};
};

struct EpochTime {
  int64_t steps = 0;
  double waiting_s = 0, exposed_s = 0;  // of a step: for the slowest; for sums
  double seconds = 0;
};

EpochTime epoch_time(const Epoch& epoch);

/// The step_s with which `epoch` takes so many seconds; below 0 if the rest of it takes longer than that.
double step_s_of(const Epoch& epoch, double seconds);

/// Of so many independent standard normal numbers; 0 for one.
double expected_maximum(int count);

}  // namespace linac::plan
