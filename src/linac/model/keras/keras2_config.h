#pragma once
// How Keras 2 described a layer, in the words of Keras 3. Both call the function hard_sigmoid and mean different ones:
// that of Keras 2 is the activation "keras2_hard_sigmoid" here. Pure, thread-safe.

#include <nlohmann/json.hpp>

namespace linac::keras {

/// `description`: {"class_name", "config", ...}; what is inside a wrapper is translated too. User error naming the
/// layer for TensorFlow functions that Keras 2 recorded as layers.
nlohmann::json modern_layer(nlohmann::json description);

}  // namespace linac::keras
