#pragma once
// For tests: a small detector and networks of random weights.

#include "linac/base/base/rng.h"
#include "linac/model/chain/shower_chain.h"

namespace linac::chain {

constexpr int64_t kTestCells = 21, kTestLayers = 4;

inline Dense random_dense(int64_t inputs, int64_t outputs, uint32_t lane, float scale, float first_bias = 0) {
  std::vector<float> weights(static_cast<size_t>(inputs * outputs)), bias(static_cast<size_t>(outputs));
  fill_normal({.seed = 1, .stream = Stream::kInit, .lane = lane}, weights);
  for (float& weight : weights) weight *= scale;
  bias[0] = first_bias;
  return {inputs, outputs, weights, bias};
}

/// Hits are rare, layers seldom empty. `bound`: of the chances of the halo's cells.
inline ChainParts test_parts(float bound = 0.5F) {
  constexpr int64_t kWidth = 16, kClasses = 20;
  ChainParts parts;
  parts.detector = {{kTestCells, kTestCells}, {1, 2, 3, 4.5F}, 2};
  parts.units = {3e-5F, 40};
  parts.halo = HaloBounds(std::vector<float>(HaloBounds::kSize, bound));
  parts.mean_by_radius.steps = 40;
  for (int64_t z = 0; z < kTestLayers; ++z)
    for (int64_t step = 0; step < 40; ++step)
      parts.mean_by_radius.values.push_back(1 / (1 + static_cast<float>(step * step)));
  const int64_t inputs = layer_inputs(kTestLayers);
  parts.layer_energy = {random_dense(inputs, kWidth, 1, 0.05F),
                        random_dense(kWidth, kWidth, 2, 0.05F),
                        random_dense(kWidth, 13, 3, 0.05F, -4),
                        {std::vector<float>(kTestLayers, -6), std::vector<float>(kTestLayers, 0.2F), parts.units},
                        std::vector<float>(kTestLayers, 0.01F)};
  parts.network = {random_dense(kCellFeatures, kWidth, 4, 0.1F),
                   random_dense(shared_features(kTestLayers), kWidth, 5, 0.1F),
                   random_dense(kWidth, kWidth, 6, 0.2F),
                   random_dense(kWidth, 1, 7, 0.3F, -3),
                   random_dense(kWidth, kWidth, 8, 0.2F),
                   random_dense(kWidth, kClasses, 9, 0.2F),
                   {}};
  for (int64_t edge = 0; edge <= kClasses; ++edge) parts.network.edges.push_back(-16 + 0.5F * static_cast<float>(edge));
  return parts;
}

}  // namespace linac::chain
