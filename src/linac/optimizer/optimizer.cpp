#include "linac/optimizer/optimizer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/error.h"

namespace linac::optimizer {
namespace {

// What an optimiser keeps for each weight, in the order of a checkpoint.
std::vector<std::string> slot_names(const spec::Optimizer& settings) {
  const std::string& name = settings.name;
  if (name == "sgd") return settings.momentum > 0 ? std::vector<std::string>{"momentum"} : std::vector<std::string>{};
  if (name == "adagrad") return {"accumulator"};
  if (name == "adadelta") return {"accumulated_gradient", "accumulated_change"};
  if (name == "lion") return {"momentum"};
  std::vector<std::string> names{"velocity"};
  if (name == "rmsprop") {
    if (settings.momentum > 0) names.emplace_back("momentum");
    if (settings.centered) names.emplace_back("mean_gradient");
    return names;
  }
  names.insert(names.begin(), "momentum");
  if (settings.amsgrad && (name == "adam" || name == "adamw")) names.emplace_back("largest_velocity");
  return names;
}

// One running sum from front to back: a fixed order.
double norm(std::span<const float> values) {
  double squares = 0;
  for (const double value : values) squares += value * value;
  return std::sqrt(squares);
}

/// Nadam's factors of the momentum at update n and the products up to it (Dozat, "Incorporating Nesterov momentum into
/// Adam", 2016).
struct NadamMomentum {
  double now, next, product_now, product_next;

  NadamMomentum(double beta_1, int64_t n)
      : now(at(beta_1, n)), next(at(beta_1, n + 1)), product_now(nadam_product(beta_1, n)) {
    product_next = product_now * next;
  }
  static double at(double beta_1, int64_t n) { return beta_1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(n))); }
};

}  // namespace

double nadam_product(double beta_1, int64_t n) {
  double product = 1;
  for (int64_t i = 1; i <= n && product > 1e-30; ++i) product *= NadamMomentum::at(beta_1, i);
  return product;
}

Optimizer::Optimizer(const spec::Optimizer& settings, size_t size) : settings_(settings) {
  for (const std::string& name : slot_names(settings)) slots_.push_back({name, AlignedFloats(size)});
  if (settings.name == "adagrad") {
    std::fill(slots_[0].values.begin(), slots_[0].values.end(), static_cast<float>(settings.initial_accumulator_value));
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
  for (const Slot& slot : slots_) LINAC_CHECK(slot.values.size() == weights.size());
  ++updates_;
  if (settings_.weight_decay > 0) {
    const auto keep = static_cast<float>(1 - settings_.weight_decay * learning_rate);
    for (float& weight : weights) weight *= keep;
  }
  update(weights, clipped(gradient), learning_rate);
}

// One branch an optimiser; w, g and the slots a, b, c of a weight at a time.
void Optimizer::update(std::span<float> weights, std::span<const float> gradient, double learning_rate) {
  const auto each = [&](const auto& change) {
    for (size_t i = 0; i < weights.size(); ++i) change(i, weights[i], gradient[i]);
  };
  const auto slot = [&](size_t i) { return slots_.size() > i ? slots_[i].values.data() : nullptr; };
  float *const a = slot(0), *const b = slot(1), *const c = slot(2);
  const auto lr = static_cast<float>(learning_rate), epsilon = static_cast<float>(settings_.epsilon);
  const auto rho = static_cast<float>(settings_.rho), momentum = static_cast<float>(settings_.momentum);
  const auto beta_1 = static_cast<float>(settings_.beta_1), beta_2 = static_cast<float>(settings_.beta_2);
  const auto n = static_cast<double>(updates_);
  const double unbias_1 = 1 - std::pow(settings_.beta_1, n), unbias_2 = 1 - std::pow(settings_.beta_2, n);
  const std::string& name = settings_.name;

  if (name == "sgd" && a == nullptr) {
    each([&](size_t, float& w, float g) { w -= lr * g; });
  } else if (name == "sgd") {
    const bool nesterov = settings_.nesterov;
    each([&](size_t i, float& w, float g) {
      a[i] = momentum * a[i] - lr * g;
      w += nesterov ? momentum * a[i] - lr * g : a[i];
    });
  } else if (name == "rmsprop") {
    float* const moved = settings_.momentum > 0 ? b : nullptr;
    float* const mean = settings_.centered ? (moved != nullptr ? c : b) : nullptr;
    each([&](size_t i, float& w, float g) {
      a[i] = rho * a[i] + (1 - rho) * g * g;
      float square = a[i];
      if (mean != nullptr) {
        mean[i] = rho * mean[i] + (1 - rho) * g;
        square -= mean[i] * mean[i];
      }
      const float change = lr * g / std::sqrt(square + epsilon);
      if (moved != nullptr) moved[i] = momentum * moved[i] + change;
      w -= moved != nullptr ? moved[i] : change;
    });
  } else if (name == "adam" || name == "adamw") {
    // Keras folds both bias corrections into the rate.
    const auto corrected_lr = static_cast<float>(learning_rate * (std::sqrt(unbias_2) / unbias_1));
    each([&](size_t i, float& w, float g) {
      a[i] += (g - a[i]) * (1 - beta_1);
      b[i] += (g * g - b[i]) * (1 - beta_2);
      if (c != nullptr) c[i] = std::max(c[i], b[i]);
      w -= a[i] * corrected_lr / (std::sqrt(c != nullptr ? c[i] : b[i]) + epsilon);
    });
  } else if (name == "adamax") {
    const auto corrected_lr = static_cast<float>(learning_rate / unbias_1);
    each([&](size_t i, float& w, float g) {
      a[i] += (g - a[i]) * (1 - beta_1);
      b[i] = std::max(beta_2 * b[i], std::abs(g));
      w -= corrected_lr * a[i] / (b[i] + epsilon);
    });
  } else if (name == "nadam") {
    const NadamMomentum factor(settings_.beta_1, updates_);
    const auto of_mean = static_cast<float>(factor.next / (1 - factor.product_next));
    const auto of_gradient = static_cast<float>((1 - factor.now) / (1 - factor.product_now));
    const auto correction = static_cast<float>(1 / unbias_2);
    each([&](size_t i, float& w, float g) {
      a[i] += (g - a[i]) * (1 - beta_1);
      b[i] += (g * g - b[i]) * (1 - beta_2);
      w -= lr * (of_mean * a[i] + of_gradient * g) / (std::sqrt(b[i] * correction) + epsilon);
    });
  } else if (name == "adagrad") {
    each([&](size_t i, float& w, float g) {
      a[i] += g * g;
      w -= lr * g / std::sqrt(a[i] + epsilon);
    });
  } else if (name == "adadelta") {
    each([&](size_t i, float& w, float g) {
      a[i] = rho * a[i] + (1 - rho) * g * g;
      const float change = std::sqrt(b[i] + epsilon) / std::sqrt(a[i] + epsilon) * g;
      b[i] = rho * b[i] + (1 - rho) * change * change;
      w -= lr * change;
    });
  } else {
    LINAC_CHECK(name == "lion");
    each([&](size_t i, float& w, float g) {
      const float direction = a[i] * beta_1 + g * (1 - beta_1);
      w -= lr * static_cast<float>((direction > 0) - (direction < 0));
      a[i] = a[i] * beta_2 + g * (1 - beta_2);
    });
  }
}

}  // namespace linac::optimizer
