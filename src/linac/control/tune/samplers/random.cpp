#include "linac/control/tune/samplers/samplers.h"

namespace linac::tune {
namespace {

constexpr uint32_t kUse = 1;

class Random : public Sampler {
 public:
  Point suggest(const History& history, const Ask& ask) override {
    Draws draws(ask, kUse);
    return random_point(history.space(), draws);
  }
};

}  // namespace

std::unique_ptr<Sampler> make_random(const SamplerSettings&) {
  return std::make_unique<Random>();
}

}  // namespace linac::tune
