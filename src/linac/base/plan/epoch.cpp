#include "linac/base/plan/epoch.h"

#include <cmath>

#include "linac/base/base/error.h"

namespace linac::plan {
namespace {

int64_t steps_of(const Epoch& epoch) {
  LINAC_CHECK(epoch.events > 0 && epoch.batch > 0 && epoch.workers > 0 && epoch.workers_per_host > 0);
  const int64_t share = (epoch.events - 1) / epoch.workers + 1;  // of the worker that has most
  return (share - 1) / epoch.batch + 1;
}

double exposed_of(const Epoch& epoch) {
  const int hosts = (epoch.workers - 1) / epoch.workers_per_host + 1;
  return predict({.compute_s = 0, .replicas = epoch.workers_per_host, .updates = epoch.updates}, hosts, epoch.link)
      .exposed_s;
}

}  // namespace

double expected_maximum(int count) {
  // The mean is the integral of 1 - F over positive x, less that of F over negative ones, with F = Phi^count.
  constexpr double kEnd = 9, kStep = 1.0 / 256;
  if (count <= 1) return 0;
  double sum = 0;
  for (double x = kStep / 2; x < kEnd; x += kStep) {
    const double above = std::erfc(x / M_SQRT2) / 2;
    sum += -std::expm1(count * std::log1p(-above)) - std::pow(above, count);
  }
  return sum * kStep;
}

EpochTime epoch_time(const Epoch& epoch) {
  EpochTime time{.steps = steps_of(epoch),
                 .waiting_s = epoch.step_s * epoch.jitter * expected_maximum(epoch.workers),
                 .exposed_s = exposed_of(epoch)};
  const double step_s = epoch.step_s + time.waiting_s + time.exposed_s;
  time.seconds = (static_cast<double>(time.steps) + epoch.lead_steps) * step_s + epoch.fixed_s;
  return time;
}

double step_s_of(const Epoch& epoch, double seconds) {
  const double step_s = (seconds - epoch.fixed_s) / (static_cast<double>(steps_of(epoch)) + epoch.lead_steps);
  return (step_s - exposed_of(epoch)) / (1 + epoch.jitter * expected_maximum(epoch.workers));
}

}  // namespace linac::plan
