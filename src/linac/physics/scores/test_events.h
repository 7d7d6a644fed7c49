#pragma once
// Events with scores for the tests of this module.

#include <cmath>
#include <cstdint>
#include <vector>

#include "linac/base/base/rng.h"

namespace linac::scores::testing {

struct Scored {
  std::vector<float> scores;
  std::vector<uint8_t> is_positive;
};

/// Normal scores of width 1, those of the positives (a share of all) `shift` higher: the expected AUC is
/// Phi(shift / sqrt(2)).
inline Scored normal_scores(size_t events, double share, double shift, uint64_t seed) {
  Scored result{.scores = std::vector<float>(events), .is_positive = std::vector<uint8_t>(events)};
  std::vector<float> uniform(events);
  fill_normal({.seed = seed, .lane = 1}, result.scores);
  fill_uniform({.seed = seed, .lane = 2}, uniform);
  for (size_t i = 0; i < events; ++i) {
    result.is_positive[i] = uniform[i] < share ? 1 : 0;
    if (result.is_positive[i] != 0) result.scores[i] += static_cast<float>(shift);
  }
  return result;
}

}  // namespace linac::scores::testing
