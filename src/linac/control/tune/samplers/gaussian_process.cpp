// Bayesian optimisation with a Gaussian process (gp_model.h, gp_data.h) and the logarithm of the expected improvement
// (improvement.h).

#include "linac/control/tune/samplers/expected_improvement.h"
#include "linac/control/tune/samplers/gp_data.h"
#include "linac/control/tune/samplers/ranking.h"
#include "linac/control/tune/samplers/samplers.h"
#include "linac/control/tune/samplers/startup.h"

namespace linac::tune {
namespace {

class GaussianProcess : public Sampler {
 public:
  explicit GaussianProcess(const SamplerSettings& settings) : settings_(settings) {}

  Point suggest(const History& history, const Ask& ask) override {
    const Space& space = history.space();
    if (history.complete_count() < 2 || ranked(history).size() < gp_startup(space, settings_))
      return startup_point(space, ask);
    const GpModel model = std::move(gp_models(history, settings_.noisy, hypers_).front());
    const auto best = best_point(history, ExpectedImprovement(model, settings_.noisy), ask);
    return best ? *best : startup_point(space, ask);
  }

 private:
  SamplerSettings settings_;
  KeptHypers hypers_;
};

}  // namespace

std::unique_ptr<Sampler> make_gaussian_process(const SamplerSettings& settings) {
  return std::make_unique<GaussianProcess>(settings);
}

}  // namespace linac::tune
