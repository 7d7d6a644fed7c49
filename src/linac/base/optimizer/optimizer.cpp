#include "linac/base/optimizer/optimizer.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::optimizer {
namespace {

// One running sum from front to back: a fixed order.
double norm(std::span<const float> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

Optimizer::Optimizer(const Settings& settings, size_t size) : settings_(settings), kind_(find(settings.name)) {
  LINAC_CHECK(kind_ != nullptr);
  const auto start = static_cast<float>(kind_->slots_start != nullptr ? kind_->slots_start(settings) : 0);
  for (const std::string& name : kind_->slots(settings)) {
    slots_.push_back({name, AlignedFloats(size)});
    if (start != 0) std::fill(slots_.back().values.begin(), slots_.back().values.end(), start);
  }
}

std::span<const float> Optimizer::clipped(std::span<const float> gradient) {
  if (settings_.clipvalue <= 0 && settings_.global_clipnorm <= 0) return gradient;
  clipped_.assign(gradient.begin(), gradient.end());
  const auto limit = static_cast<float>(settings_.clipvalue);
  if (limit > 0) {
    for (float& value : clipped_) value = std::clamp(value, -limit, limit);
  }
  const double length = settings_.global_clipnorm > 0 ? norm(clipped_) : 0;
  if (length > settings_.global_clipnorm) {
    const auto factor = static_cast<float>(settings_.global_clipnorm / length);
    for (float& value : clipped_) value *= factor;
  }
  return clipped_;
}

void Optimizer::step(std::span<float> weights, std::span<const float> gradient, double learning_rate) {
  LINAC_CHECK(weights.size() == gradient.size());
  Update update{.settings = settings_,
                .weights = weights,
                .gradient = clipped(gradient),
                .slots = {},
                .learning_rate = learning_rate,
                .number = ++updates_};
  for (size_t i = 0; i < slots_.size(); ++i) {
    LINAC_CHECK(slots_[i].values.size() == weights.size());
    update.slots.at(i) = slots_[i].values.data();
  }
  if (settings_.weight_decay > 0) {
    const auto keep = static_cast<float>(1 - settings_.weight_decay * learning_rate);
    for (float& weight : weights) weight *= keep;
  }
  kind_->update(update);
}

}  // namespace linac::optimizer
