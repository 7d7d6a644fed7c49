#include "linac/train/train/local/outer_step.h"

#include "linac/base/base/error.h"

namespace linac::train {

// The momentum as PyTorch's SGD keeps it: b = m b + g, and the step is b, or g + m b where it looks ahead (Nesterov).
void outer_step(const job::OuterOptimizer& settings, std::span<float> weights, std::span<const float> way,
                std::span<float> momentum) {
  LINAC_CHECK(weights.size() == way.size() && weights.size() == momentum.size());
  const auto rate = static_cast<float>(settings.lr), kept = static_cast<float>(settings.momentum);
  for (size_t i = 0; i < weights.size(); ++i) {
    momentum[i] = kept * momentum[i] + way[i];
    const float step = settings.nesterov ? way[i] + kept * momentum[i] : momentum[i];
    weights[i] -= rate * step;
  }
}

void elastic_step(float alpha, std::span<float> weights, std::span<const float> of_all) {
  for (size_t i = 0; i < weights.size(); ++i) weights[i] -= alpha * (weights[i] - of_all[i]);
}

}  // namespace linac::train
