#include "linac/model/keras/layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/graph/weight_rules.h"
#include "linac/model/keras/float_twins.h"
#include "linac/model/keras/refused_layers.h"
#include "linac/model/keras/rules.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;
using enum graph::SettingKind;

constexpr int kInnerLayersMax = 4;  // layers in layers

[[noreturn]] void refuse(const std::string& layer, const std::string& class_name, const std::string& why) {
  throw user_error(fmt::format("[keras] layer '{}' ({}): {}", layer, class_name, why));
}

constexpr const char* kOperation = "ops.";

// Keras 2 and before wrote the settings of what has a name.
std::string read_variance_scaling(const SettingPlace& place, const json& config) {
  const json given = typed_value(place, ValueType::kNumber, config.value("scale", json(1.0)));
  const double scale = given.is_null() ? 1.0 : given.get<double>();
  const std::string mode = config.value("mode", "fan_in"), distribution = config.value("distribution", "normal");
  const char* const end = distribution == "uniform" ? "uniform" : "normal";
  if (mode == "fan_avg" && scale == 1) return fmt::format("glorot_{}", end);
  if (mode == "fan_in" && scale == 2) return fmt::format("he_{}", end);
  if (mode == "fan_in" && scale == 1) return fmt::format("lecun_{}", end);
  return "variance_scaling";
}

// "he_uniform" <-> {"class_name": "HeUniform", ...}.
std::string read_initializer(const SettingPlace& place, const json& value) {
  std::string name = value.is_string() ? value.get<std::string>() : value.at("class_name").get<std::string>();
  name = keras_snake_case(name);
  const std::string suffix = "_initializer";  // "OrthogonalInitializer" of older versions
  if (name.ends_with(suffix)) name.erase(name.size() - suffix.size());
  if (name == "variance_scaling" && value.is_object() && value.contains("config"))
    return read_variance_scaling(place, value.at("config"));
  return name;
}

json write_initializer(const std::string& name) {
  const std::string class_name = name == "uniform" ? "RandomUniform" : keras_class_name(name);
  const bool random = name != "zeros" && name != "ones";
  return {{"module", "keras.initializers"},
          {"class_name", class_name},
          {"config", random ? json{{"seed", nullptr}} : json::object()},
          {"registered_name", nullptr}};
}

// "relu", null, {"class_name": "function", "config": "relu"}, or an activation layer of nothing but a name.
std::string read_activation(const std::string& layer, const std::string& class_name, const json& value) {
  if (value.is_null()) return "linear";
  if (value.is_string()) return value.get<std::string>();
  if (value.is_object() && value.value("class_name", "") == "function" && value.at("config").is_string())
    return value.at("config").get<std::string>();
  refuse(layer, class_name,
         fmt::format("the activation {} is not supported; put it behind as a layer of its own", brief(value)));
}

// Keras 3 writes an object where the type came from a policy.
bool is_float32(const json& dtype) {
  if (dtype.is_null() || dtype == "float32") return true;
  return dtype.is_object() && dtype.contains("config") && dtype.at("config").value("name", "") == "float32";
}

// A setting that linac has never heard of changes nothing while it is off.
bool is_off(const json& value) {
  return value.is_null() || value == false || ((value.is_array() || value.is_object()) && value.empty());
}

void check_common(const std::string& name, const std::string& class_name, const json& config) {
  const bool input = class_name == "InputLayer";  // integers are welcome there
  if (!input && config.contains("dtype") && !is_float32(config.at("dtype")))
    refuse(name, class_name, fmt::format("dtype {} is not supported; build it in float32", brief(config.at("dtype"))));
}

graph::Node read_layer(const graph::LayerKind& kind, const std::string& class_name, const json& config, int depth);

// A class of Keras 2 that Keras 3 has as a setting of another.
constexpr const char* kThresholdedRelu = "ThresholdedReLU";

json relu_of(const json& thresholded) {
  json config = thresholded;
  config["threshold"] = thresholded.value("theta", json(1.0));
  config.erase("theta");
  return config;
}

json read_inner_layer(const std::string& outer, const json& value, int depth) {
  if (depth >= kInnerLayersMax) refuse(outer, "layer", "holds layers in layers too deep");
  const auto class_name = value.at("class_name").get<std::string>();
  if (class_name == kThresholdedRelu)
    return read_inner_layer(outer, {{"class_name", "ReLU"}, {"config", relu_of(value.at("config"))}}, depth);
  const graph::LayerKind* const kind = graph::find_layer_kind(class_name);
  if (class_name == "Functional" || class_name == "Sequential" || class_name == "Model")
    refuse(outer, class_name, "a model is supported inside of a TimeDistributed, and in no wrapper inside of another");
  if (kind == nullptr || kind->own)
    refuse(outer, class_name, fmt::format("the layer inside is not supported; {}", advice_on_layer(class_name)));
  const graph::Node inner = read_layer(*kind, class_name, value.at("config"), depth + 1);
  if (activity_penalty(inner))
    refuse(inner.name, class_name, "a regularizer of activities inside another layer is not supported; put it on that");
  return {{"op", inner.op}, {"name", inner.name}, {"attributes", inner.attributes}};
}

void read_setting(graph::Node& node, const graph::LayerKind& kind, const graph::Setting& setting, const json& value,
                  int depth) {
  const SettingPlace place{node.name, kind.op, setting.key};
  if (setting.kind == kDefaultOnly && !value.is_null() &&
      typed_value(place, setting.otherwise.is_boolean() ? ValueType::kFlag : ValueType::kAny, value) !=
          setting.otherwise) {
    refuse(node.name, kind.op,
           fmt::format("{} = {} is not supported (only {})", setting.key, brief(value), brief(setting.otherwise)));
  }
  if (setting.kind == kActivation) node.attributes[setting.key] = read_activation(node.name, kind.op, value);
  if (value.is_null()) return;
  if (setting.kind == kKept) node.attributes[setting.key] = typed_value(place, type_of(setting), value);
  if (setting.kind == kInitializer) node.attributes[setting.key] = read_initializer(place, value);
  if (setting.kind == kLayer) node.attributes[setting.key] = read_inner_layer(node.name, value, depth);
}

/// What the file says of a setting, by its name or by that which it had before: Keras 2 said alpha.
json value_in_file(const graph::LayerKind& kind, const graph::Setting& setting, const json& config) {
  if (const auto found = config.find(setting.key); found != config.end()) return *found;
  const bool renamed = kind.op == "LeakyReLU" && setting.key == "negative_slope";
  return renamed ? config.value("alpha", setting.otherwise) : setting.otherwise;
}

graph::Node read_layer(const graph::LayerKind& kind, const std::string& class_name, const json& config, int depth) {
  const auto name = config.at("name").get<std::string>();
  if (!kind.op.starts_with(kOperation)) check_common(name, class_name, config);
  graph::Node node;
  node.name = name;
  node.op = kind.op;
  node.attributes = json::object();
  for (const graph::Setting& setting : kind.settings) {
    try {
      read_setting(node, kind, setting, value_in_file(kind, setting, config), depth);
    } catch (const json::exception& error) {
      refuse_setting({name, class_name, setting.key}, value_in_file(kind, setting, config), error.what());
    }
  }
  const json trainable = config.value("trainable", json());
  if (typed_value({name, class_name, "trainable"}, ValueType::kFlag, trainable) == false)
    node.attributes["trainable"] = false;
  for (const auto& [key, value] : config.items()) {
    if (is_keras_rule(key) && !is_off(value)) {
      node.attributes[key] = read_keras_rule(name, class_name, key, value);
      continue;
    }
    const bool known = key == "name" || key == "trainable" || key == "dtype" || key == "batch_input_shape" ||
                       std::any_of(kind.settings.begin(), kind.settings.end(),
                                   [&key = key](const graph::Setting& setting) { return setting.key == key; });
    if (!known && !is_off(value))
      refuse(name, class_name, fmt::format("the setting {} = {} is not supported; leave it out", key, brief(value)));
  }
  if (kind.adapt) kind.adapt(node, config);
  if (node.op == "MultiHeadAttention" && activity_penalty(node))
    refuse(name, class_name,
           "a regularizer of activities inside the layer is not supported; put it on the layer behind");
  return node;
}

graph::Node wrapped_layer(const json& attribute) {
  graph::Node node;
  node.name = attribute.at("name");
  node.op = attribute.at("op");
  node.attributes = attribute.at("attributes");
  return node;
}

bool is_there(const graph::Setting& setting) {
  return setting.kind != kIgnored && setting.kind != kLayer;
}

// False if neither the layer nor what it wraps has such a setting.
bool set_setting(graph::Node& node, const std::string& key, const json& value) {
  const graph::LayerKind& kind = graph::layer_kind(node);
  if (is_keras_rule(key)) {
    node.attributes.erase(key);
    if (!is_off(value)) node.attributes[key] = read_keras_rule(node.name, kind.op, key, value);
    return true;
  }
  if (key == "trainable") {
    node.attributes[key] = typed_value({node.name, kind.op, key}, ValueType::kFlag, value);
    return true;
  }
  bool found = false;
  for (const graph::Setting& setting : kind.settings) {
    if (setting.key == key && is_there(setting)) {
      node.attributes.erase(key);
      read_setting(node, kind, setting, value, 0);
      if (kind.adapt) kind.adapt(node, json::object());
      return true;
    }
    if (setting.kind != kLayer || !node.attributes.contains(setting.key)) continue;
    json& wrapped = node.attributes[setting.key];
    graph::Node inner = wrapped_layer(wrapped);
    if (!set_setting(inner, key, value)) continue;
    wrapped["attributes"] = inner.attributes;
    found = true;
  }
  return found;
}

void add_settings(const graph::Node& node, std::vector<std::string>& names) {
  for (const graph::Setting& setting : graph::layer_kind(node).settings) {
    if (is_there(setting)) names.push_back(setting.key);
    if (setting.kind != kLayer || !node.attributes.contains(setting.key)) continue;
    add_settings(wrapped_layer(node.attributes[setting.key]), names);
  }
}

json write_inner_layer(const json& inner) {
  const graph::Node node = wrapped_layer(inner);
  return {{"module", "keras.layers"},
          {"class_name", node.op},
          {"config", write_keras_layer(node)},
          {"registered_name", nullptr}};
}

json write_setting(const graph::Node& node, const graph::Setting& setting, const json& value) {
  if (value.is_null()) return value;
  if (setting.kind == kActivation && value == "keras2_hard_sigmoid")
    refuse(node.name, node.op, "Keras 3 has no activation like the hard_sigmoid of Keras 2; it cannot be written");
  if (setting.kind == kInitializer) return write_initializer(value.get<std::string>());
  return setting.kind == kLayer ? write_inner_layer(value) : value;
}

}  // namespace

bool is_operation(const graph::Node& node) {
  return node.op.starts_with(kOperation);
}

graph::Node read_keras_layer(const std::string& class_name, const json& config) {
  if (class_name == kThresholdedRelu) return read_keras_layer("ReLU", relu_of(config));
  const graph::LayerKind* const kind = graph::find_layer_kind(class_name);
  if (kind != nullptr && !kind->own && !class_name.starts_with(kOperation))
    return read_layer(*kind, class_name, config, 0);
  if (std::optional<graph::Node> twin = float_twin(class_name, config)) return std::move(*twin);
  refuse(config.at("name").get<std::string>(), class_name,
         fmt::format("this layer class is not supported; {}", advice_on_layer(class_name)));
}

graph::Node read_keras_operation(const std::string& class_name, const json& config) {
  const graph::LayerKind* const kind = graph::find_layer_kind(kOperation + class_name);
  if (kind != nullptr) return read_layer(*kind, class_name, config, 0);
  refuse(config.value("name", class_name), class_name,
         "this operation of keras.ops is not supported; build it from layers");
}

void set_keras_setting(graph::Node& node, const std::string& key, const json& value) {
  try {
    if (set_setting(node, key, value)) return;
  } catch (const json::exception& error) {
    refuse_setting({node.name, node.op, key}, value, error.what());
  }
  std::vector<std::string> names;
  add_settings(node, names);
  refuse(node.name, node.op, fmt::format("has no setting {} (there are {}, trainable)", key, fmt::join(names, ", ")));
}

json write_keras_layer(const graph::Node& node) {
  const graph::LayerKind* const kind = graph::find_layer_kind(node.op);
  if (kind == nullptr || kind->own) {
    refuse(node.name, node.op, "Keras has no such layer; leave it out of the exported graph");
  }
  json config{{"name", node.name}};
  if (!is_operation(node)) config["dtype"] = "float32";
  for (const graph::Setting& setting : kind->settings) {
    if (setting.kind == kIgnored) continue;
    const json value = node.attributes.value(setting.key, setting.otherwise);
    // Defaults that only newer versions of Keras know are left to them.
    if (setting.kind == kDefaultOnly && is_off(value)) continue;
    config[setting.key] = write_setting(node, setting, value);
  }
  if (node.attributes.contains("trainable")) config["trainable"] = node.attributes.at("trainable");
  for (const auto& [key, rule] : node.attributes.items())
    if (is_keras_rule(key)) config[key] = write_keras_rule(key, rule);
  if (node.op == "InputLayer") {
    config["batch_shape"] = json::array({nullptr});
    for (const int64_t size : node.output) config["batch_shape"].push_back(size);
    for (const size_t axis : graph::open_axes(node)) config["batch_shape"][axis + 1] = nullptr;
    config["sparse"] = false;
  }
  return config;
}

std::vector<std::string> keras_class_names() {
  std::vector<std::string> names;
  for (const std::string& name : graph::layer_names()) {
    if (!graph::find_layer_kind(name)->own && !name.starts_with(kOperation)) names.push_back(name);
  }
  return names;
}

std::string keras_class_name(const std::string& snake_case) {
  std::string name;
  bool start = true;
  for (const char letter : snake_case) {
    if (letter != '_') name += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
    start = letter == '_';
  }
  return name;
}

std::string keras_snake_case(const std::string& class_name) {
  const auto upper = [](char c) { return std::isupper(static_cast<unsigned char>(c)) != 0; };
  const auto lower = [](char c) { return std::islower(static_cast<unsigned char>(c)) != 0; };
  std::string result;
  for (size_t i = 0; i < class_name.size(); ++i) {
    const char letter = class_name[i];
    const bool starts_word =
        i > 0 && upper(letter) && (lower(class_name[i - 1]) || (i + 1 < class_name.size() && lower(class_name[i + 1])));
    if (starts_word) result += '_';
    result += static_cast<char>(std::tolower(static_cast<unsigned char>(letter)));
  }
  return result;
}

}  // namespace linac::keras
