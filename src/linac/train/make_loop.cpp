#include "linac/train/adversarial.h"
#include "linac/train/fit.h"

namespace linac::train {

std::unique_ptr<Loop> make_loop(const spec::Job& job, comm::Group& group, int concurrency, PhaseClock& clock) {
  if (job.model.kind == "3dgan") return std::make_unique<AdversarialLoop>(job, group, concurrency, clock);
  return std::make_unique<FitLoop>(job, group, concurrency, clock);
}

}  // namespace linac::train
