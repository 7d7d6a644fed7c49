#include "linac/train/adversarial.h"
#include "linac/train/custom.h"
#include "linac/train/fit.h"

namespace linac::train {

std::unique_ptr<Loop> make_loop(const spec::Job& job, comm::Group& group, int concurrency, PhaseClock& clock,
                                const trained::KerasFile* read) {
  if (job.model.kind == "3dgan") return std::make_unique<AdversarialLoop>(job, group, concurrency, clock);
  if (job.model.kind == "custom") {
    auto library = models::open_plugin(job.model.file, job.model.options);
    if (models::offers_loop(*library))
      return std::make_unique<CustomLoop>(job, std::move(library), group, concurrency, clock);
  }
  return std::make_unique<FitLoop>(job, group, concurrency, clock, read);
}

}  // namespace linac::train
