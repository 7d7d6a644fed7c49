#pragma once
// Keras's regularizers and constraints, as a layer's config has them, to and from the attributes of weight_rules.h.
// Pure, thread-safe.

#include <string>

#include "linac/model/graph/graph.h"

namespace linac::keras {

/// Whether linac's attribute of that name has a form of its own: weight rules, and the activity's regularizer.
bool is_keras_rule(const std::string& key);

/// `layer` and `class_name` are for the message. User error for others than L1, L2, L1L2; NonNeg, MaxNorm,
/// UnitNorm, MinMaxNorm.
nlohmann::json read_keras_rule(const std::string& layer, const std::string& class_name, const std::string& key,
                               const nlohmann::json& value);

/// As Keras 3 loads it: an L1L2, NonNeg or MinMaxNorm, which the others are special cases of.
nlohmann::json write_keras_rule(const std::string& key, const nlohmann::json& rule);

}  // namespace linac::keras
