#include "linac/model/keras/keras2_config.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>

#include "linac/base/base/error.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;

// TensorFlow 1.13 to 2.0 wrote the names of its classes, which had versions.
std::string modern_class(const std::string& name) {
  static const std::map<std::string, std::string> names{{"BatchNormalizationV1", "BatchNormalization"},
                                                        {"BatchNormalizationV2", "BatchNormalization"},
                                                        {"UnifiedGRU", "GRU"},
                                                        {"UnifiedLSTM", "LSTM"}};
  const auto found = names.find(name);
  return found == names.end() ? name : found->second;
}

void refuse_functions(const std::string& class_name, const json& config) {
  for (const char* function : {"TFOpLambda", "SlicingOpLambda", "TensorFlowOpLayer"}) {
    if (class_name != function) continue;
    throw user_error(fmt::format(
        "[keras] layer '{}' ({}): the TensorFlow function {} is not supported; build the model from Keras layers",
        config.value("name", ""), class_name, brief(config.value("function", json("inside")))));
  }
}

void modernize_activation(json& config, const char* key) {
  const auto found = config.find(key);
  if (found == config.end() || !found->is_string()) return;
  if (*found == "hard_sigmoid") *found = "keras2_hard_sigmoid";
  if (*found == "softmax_v2") *found = "softmax";
}

// What Keras 2 made by itself when it read the file.
json backward_layer(const json& forward) {
  json backward = forward;
  json& config = backward.at("config");
  config["name"] = "backward_" + config.at("name").get<std::string>();
  config["go_backwards"] = !config.value("go_backwards", false);
  return backward;
}

}  // namespace

json modern_layer(json description) {
  const auto class_name = modern_class(description.at("class_name").get<std::string>());
  description["class_name"] = class_name;
  json& config = description.at("config");
  if (!config.is_object()) return description;  // a Sequential model of early Keras 2
  refuse_functions(class_name, config);
  for (const char* key : {"activation", "recurrent_activation"}) modernize_activation(config, key);
  if (class_name.ends_with("Transpose") && config.value("groups", 0) == 1) config.erase("groups");  // has no meaning
  if (class_name == "GRU" && !config.contains("reset_after")) config["reset_after"] = false;
  config.erase("rng_type");                                                          // linac's own numbers
  if (class_name == "RandomContrast" && config.value("factor", json()).is_number())  // for less and for more contrast
    config["factor"] = {config.at("factor"), config.at("factor")};
  if (class_name == "Bidirectional" && !config.contains("backward_layer") && config.contains("layer"))
    config["backward_layer"] = backward_layer(config.at("layer"));
  for (const char* key : {"layer", "backward_layer"}) {
    if (config.contains(key) && config.at(key).is_object()) config[key] = modern_layer(config.at(key));
  }
  return description;
}

}  // namespace linac::keras
