#pragma once
// The table of optimisers, as Keras 3 defines them (keras.io/api/optimizers). A new one is a line in table.cpp and its
// update. Pure, thread-safe.

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "linac/base/optimizer/settings.h"

namespace linac::optimizer {

/// One update of all weights, element by element. `slots` in the order of Kind::slots; those that are not kept are
/// null.
struct Update {
  const Settings& settings;
  std::span<float> weights;
  std::span<const float> gradient;
  std::array<float*, 3> slots;
  double learning_rate;
  int64_t number;  // from 1
};

struct Kind {
  const char* name;                            // in a job: "adamw"
  const char* keras_class = nullptr;           // "AdamW"; null: Keras has none, and written models name no optimizer
  std::vector<std::string_view> own_settings;  // beside the rate, weight_decay and clipping, which all take
  /// What is kept for each weight, by name, in the order of a checkpoint.
  std::vector<std::string> (*slots)(const Settings& settings);
  void (*update)(const Update& update);
  /// What the slots start from.
  double (*slots_start)(const Settings& settings) = nullptr;  // none: 0
  /// In Keras's files: the first two slots of a weight follow one another, and a third comes after those of all
  /// weights; otherwise each slot of all weights comes after the other.
  bool keras_pairs = true;
  bool keras_needs_decay = false;                                                // weight_decay is never null
  double (*keras_product)(const Settings& settings, int64_t updates) = nullptr;  // its variable "product"
};

const std::vector<Kind>& kinds();
/// nullptr if there is none of this name.
const Kind* find(std::string_view name);
std::vector<std::string> names();

/// Calls visit(key, value) for the settings that the optimiser named in them takes beside those of all.
template <class Visit>
void visit_own_settings(Settings& settings, const Visit& visit) {
  const Kind* const kind = find(settings.name);
  const auto chosen = [&]<class T>(const char* key, T& value, const char*) {
    if constexpr (!std::is_same_v<T, std::string>) {
      if (kind == nullptr) return;
      const auto& own = kind->own_settings;
      if (std::find(own.begin(), own.end(), key) != own.end()) visit(key, value);
    }
  };
  settings.fields(chosen);
}

/// The settings that are not as usual and that the optimiser named in them does not take.
std::vector<std::string> without_effect(Settings settings);

}  // namespace linac::optimizer
