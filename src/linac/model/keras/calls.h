#pragma once
// How config.json wires layers: each layer lists its calls, a call its arguments, and tensors among them name the call
// that made them. In the form of Keras 3 and of Keras 2. Pure.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

namespace linac::keras {

/// Output `output` of call number `call` of a layer.
struct TensorName {
  std::string layer;
  size_t call = 0, output = 0;
};

struct LayerCallArguments {
  std::vector<TensorName> tensors;
  nlohmann::json arguments;  // of an operation: all, with null where a tensor goes
  std::optional<TensorName> mask;
  /// What a call switches on: "use_causal_mask", "return_attention_scores".
  nlohmann::json switches = nlohmann::json::object();
  /// A call of Keras 2 with training = False: it predicts in training too. Keras 3 overrules the argument in fit() and
  /// predict().
  bool predicts = false;
};

/// What is called. Constants among the arguments of an operation are welcome; of a layer for images Keras 3 writes its
/// default, training = true, which a model that predicts overrules.
enum class Callee { kLayer, kImageLayer, kOperation };

/// A user error of config.json.
[[noreturn]] void refuse_config(const std::string& why);

/// User errors name the layer.
std::vector<LayerCallArguments> read_calls(const std::string& layer, Callee callee,
                                           const nlohmann::json& inbound_nodes);

/// What Keras lists one by one has names in a list, one alone, or (models with named inputs) in an object.
std::vector<TensorName> read_tensor_names(const nlohmann::json& value);

}  // namespace linac::keras
