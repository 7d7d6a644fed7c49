#include "linac/base/base/bootstrap.h"

#include <numbers>

#include "linac/base/base/rng.h"

namespace linac {

void fill_event_uniform(uint64_t seed, uint32_t lane, uint64_t event, std::span<float> out, uint64_t first) {
  fill_uniform({.seed = seed,
                .stream = Stream::kBootstrap,
                .lane = lane,
                .epoch = static_cast<uint32_t>(event >> 32),
                .step = static_cast<uint32_t>(event)},
               out, first);
}

uint8_t poisson_of_one(double uniform) {
  double probability = 1 / std::numbers::e, sum = probability;
  uint8_t n = 0;
  while (uniform >= sum && n < 12) {
    ++n;
    probability /= n;
    sum += probability;
  }
  return n;
}

}  // namespace linac
