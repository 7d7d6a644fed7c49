#include "linac/train/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/error.h"

namespace linac::train {
namespace {

void rmsprop(std::span<float> weights, std::span<const float> gradient, std::span<float> velocity, float lr, float rho,
             float epsilon) {
  for (size_t i = 0; i < weights.size(); ++i) {
    velocity[i] = rho * velocity[i] + (1 - rho) * gradient[i] * gradient[i];
    weights[i] -= lr * gradient[i] / std::sqrt(velocity[i] + epsilon);
  }
}

// Keras folds both bias corrections into the rate.
void adam(std::span<float> weights, std::span<const float> gradient, std::span<float> momentum,
          std::span<float> velocity, float corrected_lr, float beta_1, float beta_2, float epsilon) {
  for (size_t i = 0; i < weights.size(); ++i) {
    momentum[i] += (gradient[i] - momentum[i]) * (1 - beta_1);
    velocity[i] += (gradient[i] * gradient[i] - velocity[i]) * (1 - beta_2);
    weights[i] -= momentum[i] * corrected_lr / (std::sqrt(velocity[i]) + epsilon);
  }
}

// One running sum from front to back: a fixed order.
double norm(std::span<const float> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

}  // namespace

Optimizer::Optimizer(const spec::Optimizer& settings, size_t size) : settings_(settings) {
  if (settings.name == "adam")
    slots_.push_back({"momentum", AlignedFloats(size)});
  else if (settings.name != "rmsprop")
    throw user_error(fmt::format("[optimizer] '{}' is not known (rmsprop, adam)", settings.name));
  slots_.push_back({"velocity", AlignedFloats(size)});
}

void Optimizer::step(std::span<float> weights, std::span<const float> gradient, double learning_rate) {
  LINAC_CHECK(weights.size() == gradient.size() && weights.size() == slots_[0].values.size());
  if (settings_.clipvalue > 0 || settings_.global_clipnorm > 0) {
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
    gradient = clipped_;
  }
  ++updates_;
  const auto epsilon = static_cast<float>(settings_.epsilon);
  if (settings_.name == "rmsprop") {
    rmsprop(weights, gradient, slots_[0].values, static_cast<float>(learning_rate), static_cast<float>(settings_.rho),
            epsilon);
    return;
  }
  const auto n = static_cast<double>(updates_);
  const double correction = std::sqrt(1 - std::pow(settings_.beta_2, n)) / (1 - std::pow(settings_.beta_1, n));
  adam(weights, gradient, slots_[0].values, slots_[1].values, static_cast<float>(learning_rate * correction),
       static_cast<float>(settings_.beta_1), static_cast<float>(settings_.beta_2), epsilon);
}

}  // namespace linac::train
