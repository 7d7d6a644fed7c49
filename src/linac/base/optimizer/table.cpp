#include "linac/base/optimizer/table.h"

#include <cmath>
#include <map>

#include "linac/base/base/float_clones.h"

namespace linac::optimizer {
namespace {

using Names = std::vector<std::string>;

// Calls change(i, w, g) for each weight; part of its caller, so that it is compiled for the same instruction sets.
template <class Change>
[[gnu::always_inline]] inline void each(const Update& update, const Change& change) {
  float* const weights = update.weights.data();
  const float* const gradient = update.gradient.data();
  const size_t size = update.weights.size();
  for (size_t i = 0; i < size; ++i) change(i, weights[i], gradient[i]);
}

float rate(const Update& update) {
  return static_cast<float>(update.learning_rate);
}

// 1 - decay for floats: taken of a float, it would be off by 1e-5 at 0.999, and with it the update, whose correction of
// the start at 0 is of the double.
float rest(double decay) {
  return static_cast<float>(1 - decay);
}

// What is left of the mean's and the mean square's start at 0 after so many updates.
double unbias(double beta, int64_t number) {
  return 1 - std::pow(beta, static_cast<double>(number));
}

Names sgd_slots(const Settings& settings) {
  return settings.momentum > 0 ? Names{"momentum"} : Names{};
}

LINAC_FLOAT_CLONES
void sgd(const Update& update) {
  float* const a = update.slots[0];
  const float lr = rate(update), momentum = static_cast<float>(update.settings.momentum);
  if (a == nullptr) return each(update, [&](size_t, float& w, float g) { w -= lr * g; });
  const bool nesterov = update.settings.nesterov;
  each(update, [&](size_t i, float& w, float g) {
    a[i] = momentum * a[i] - lr * g;
    w += nesterov ? momentum * a[i] - lr * g : a[i];
  });
}

Names rmsprop_slots(const Settings& settings) {
  Names names{"velocity"};
  if (settings.momentum > 0) names.emplace_back("momentum");
  if (settings.centered) names.emplace_back("mean_gradient");
  return names;
}

LINAC_FLOAT_CLONES
void rmsprop(const Update& update) {
  const auto [a, b, c] = update.slots;
  const Settings& settings = update.settings;
  const float lr = rate(update), epsilon = static_cast<float>(settings.epsilon);
  const auto rho = static_cast<float>(settings.rho), momentum = static_cast<float>(settings.momentum);
  const float of_new = rest(settings.rho);
  float* const moved = settings.momentum > 0 ? b : nullptr;
  float* const mean = settings.centered ? (moved != nullptr ? c : b) : nullptr;
  each(update, [&, a = a](size_t i, float& w, float g) {
    a[i] = rho * a[i] + of_new * g * g;
    float square = a[i];
    if (mean != nullptr) {
      mean[i] = rho * mean[i] + of_new * g;
      square -= mean[i] * mean[i];
    }
    const float change = lr * g / std::sqrt(square + epsilon);
    if (moved != nullptr) moved[i] = momentum * moved[i] + change;
    w -= moved != nullptr ? moved[i] : change;
  });
}

Names adam_slots(const Settings& settings) {
  Names names{"momentum", "velocity"};
  if (settings.amsgrad) names.emplace_back("largest_velocity");
  return names;
}

// Keras folds both bias corrections into the rate.
LINAC_FLOAT_CLONES
void adam(const Update& update) {
  const auto [a, b, c] = update.slots;
  const Settings& settings = update.settings;
  const float rest_1 = rest(settings.beta_1), rest_2 = rest(settings.beta_2);
  const auto epsilon = static_cast<float>(settings.epsilon);
  const auto corrected_lr =
      static_cast<float>(update.learning_rate *
                         (std::sqrt(unbias(settings.beta_2, update.number)) / unbias(settings.beta_1, update.number)));
  each(update, [&, a = a, b = b, c = c](size_t i, float& w, float g) {
    a[i] += (g - a[i]) * rest_1;
    b[i] += (g * g - b[i]) * rest_2;
    if (c != nullptr) c[i] = std::max(c[i], b[i]);
    w -= a[i] * corrected_lr / (std::sqrt(c != nullptr ? c[i] : b[i]) + epsilon);
  });
}

Names two_moments(const Settings&) {
  return {"momentum", "velocity"};
}

LINAC_FLOAT_CLONES
void adamax(const Update& update) {
  const auto [a, b, unused] = update.slots;
  const Settings& settings = update.settings;
  const auto beta_2 = static_cast<float>(settings.beta_2);
  const float rest_1 = rest(settings.beta_1);
  const auto epsilon = static_cast<float>(settings.epsilon);
  const auto corrected_lr = static_cast<float>(update.learning_rate / unbias(settings.beta_1, update.number));
  each(update, [&, a = a, b = b](size_t i, float& w, float g) {
    a[i] += (g - a[i]) * rest_1;
    b[i] = std::max(beta_2 * b[i], std::abs(g));
    w -= corrected_lr * a[i] / (b[i] + epsilon);
  });
}

/// Nadam's factors of the momentum at update n and the products up to it (Dozat, "Incorporating Nesterov momentum into
/// Adam", 2016).
struct NadamMomentum {
  double now, next, product_now, product_next;

  NadamMomentum(double beta_1, int64_t n)
      : now(at(beta_1, n)), next(at(beta_1, n + 1)), product_now(product(beta_1, n)) {
    product_next = product_now * next;
  }
  static double at(double beta_1, int64_t n) { return beta_1 * (1 - 0.5 * std::pow(0.96, static_cast<double>(n))); }
  static double product(double beta_1, int64_t n) {
    double product = 1;
    for (int64_t i = 1; i <= n && product > 1e-30; ++i) product *= at(beta_1, i);
    return product;
  }
};

double nadam_product(const Settings& settings, int64_t updates) {
  return NadamMomentum::product(settings.beta_1, updates);
}

LINAC_FLOAT_CLONES
void nadam(const Update& update) {
  const auto [a, b, unused] = update.slots;
  const Settings& settings = update.settings;
  const float rest_1 = rest(settings.beta_1), rest_2 = rest(settings.beta_2);
  const float lr = rate(update), epsilon = static_cast<float>(settings.epsilon);
  const NadamMomentum factor(settings.beta_1, update.number);
  const auto of_mean = static_cast<float>(factor.next / (1 - factor.product_next));
  const auto of_gradient = static_cast<float>((1 - factor.now) / (1 - factor.product_now));
  const auto correction = static_cast<float>(1 / unbias(settings.beta_2, update.number));
  each(update, [&, a = a, b = b](size_t i, float& w, float g) {
    a[i] += (g - a[i]) * rest_1;
    b[i] += (g * g - b[i]) * rest_2;
    w -= lr * (of_mean * a[i] + of_gradient * g) / (std::sqrt(b[i] * correction) + epsilon);
  });
}

Names adagrad_slots(const Settings&) {
  return {"accumulator"};
}

double adagrad_start(const Settings& settings) {
  return settings.initial_accumulator_value;
}

LINAC_FLOAT_CLONES
void adagrad(const Update& update) {
  float* const a = update.slots[0];
  const float lr = rate(update), epsilon = static_cast<float>(update.settings.epsilon);
  each(update, [&](size_t i, float& w, float g) {
    a[i] += g * g;
    w -= lr * g / std::sqrt(a[i] + epsilon);
  });
}

Names adadelta_slots(const Settings&) {
  return {"accumulated_gradient", "accumulated_change"};
}

LINAC_FLOAT_CLONES
void adadelta(const Update& update) {
  const auto [a, b, unused] = update.slots;
  const float lr = rate(update), epsilon = static_cast<float>(update.settings.epsilon);
  const auto rho = static_cast<float>(update.settings.rho);
  const float of_new = rest(update.settings.rho);
  each(update, [&, a = a, b = b](size_t i, float& w, float g) {
    a[i] = rho * a[i] + of_new * g * g;
    const float change = std::sqrt(b[i] + epsilon) / std::sqrt(a[i] + epsilon) * g;
    b[i] = rho * b[i] + of_new * change * change;
    w -= lr * change;
  });
}

Names lion_slots(const Settings&) {
  return {"momentum"};
}

LINAC_FLOAT_CLONES
void lion(const Update& update) {
  float* const a = update.slots[0];
  const float lr = rate(update);
  const auto beta_1 = static_cast<float>(update.settings.beta_1), beta_2 = static_cast<float>(update.settings.beta_2);
  const float rest_1 = rest(update.settings.beta_1), rest_2 = rest(update.settings.beta_2);
  each(update, [&](size_t i, float& w, float g) {
    const float direction = a[i] * beta_1 + g * rest_1;
    w -= lr * static_cast<float>((direction > 0) - (direction < 0));
    a[i] = a[i] * beta_2 + g * rest_2;
  });
}

}  // namespace

const std::vector<Kind>& kinds() {
  static const std::vector<Kind> table{
      {.name = "sgd",
       .keras_class = "SGD",
       .own_settings = {"momentum", "nesterov"},
       .slots = sgd_slots,
       .update = sgd},
      {.name = "rmsprop",
       .keras_class = "RMSprop",
       .own_settings = {"momentum", "rho", "centered", "epsilon"},
       .slots = rmsprop_slots,
       .update = rmsprop,
       .keras_pairs = false},
      {.name = "adam",
       .keras_class = "Adam",
       .own_settings = {"beta_1", "beta_2", "amsgrad", "epsilon"},
       .slots = adam_slots,
       .update = adam},
      {.name = "adamw",
       .keras_class = "AdamW",
       .own_settings = {"beta_1", "beta_2", "amsgrad", "epsilon"},
       .slots = adam_slots,
       .update = adam,
       .keras_needs_decay = true},
      {.name = "adamax",
       .keras_class = "Adamax",
       .own_settings = {"beta_1", "beta_2", "epsilon"},
       .slots = two_moments,
       .update = adamax},
      {.name = "nadam",
       .keras_class = "Nadam",
       .own_settings = {"beta_1", "beta_2", "epsilon"},
       .slots = two_moments,
       .update = nadam,
       .keras_product = nadam_product},
      {.name = "adagrad",
       .keras_class = "Adagrad",
       .own_settings = {"epsilon", "initial_accumulator_value"},
       .slots = adagrad_slots,
       .update = adagrad,
       .slots_start = adagrad_start},
      {.name = "adadelta",
       .keras_class = "Adadelta",
       .own_settings = {"rho", "epsilon"},
       .slots = adadelta_slots,
       .update = adadelta},
      {.name = "lion",
       .keras_class = "Lion",
       .own_settings = {"beta_1", "beta_2"},
       .slots = lion_slots,
       .update = lion},
  };
  return table;
}

const Kind* find(std::string_view name) {
  for (const Kind& kind : kinds())
    if (name == kind.name) return &kind;
  return nullptr;
}

std::vector<std::string> names() {
  std::vector<std::string> all;
  for (const Kind& kind : kinds()) all.emplace_back(kind.name);
  return all;
}

std::vector<std::string> without_effect(Settings settings) {
  std::map<std::string, double> given;
  const auto keep = [&]<class T>(const char* key, T& value, const char*) {
    if constexpr (!std::is_same_v<T, std::string>) given[key] = static_cast<double>(value);
  };
  settings.fields(keep);
  std::vector<std::string> own{"lr", "weight_decay", "global_clipnorm", "clipvalue", "restore"};  // all take these
  visit_own_settings(settings, [&](const char* key, const auto&) { own.emplace_back(key); });
  std::vector<std::string> idle;
  Settings usual;
  const auto compare = [&]<class T>(const char* key, T& value, const char*) {
    if constexpr (!std::is_same_v<T, std::string>) {
      const bool taken = std::find(own.begin(), own.end(), key) != own.end();
      if (!taken && given[key] != static_cast<double>(value)) idle.emplace_back(key);
    }
  };
  usual.fields(compare);
  return idle;
}

}  // namespace linac::optimizer
