#include "linac/graph/keras_layers.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cctype>

#include "linac/base/error.h"
#include "linac/base/nearest.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum KerasSetting;

[[noreturn]] void refuse(const std::string& layer, const std::string& class_name, const std::string& why) {
  throw user_error(fmt::format("[keras] layer '{}' ({}): {}", layer, class_name, why));
}

// The file has the batch axis, linac has not: [null, 51, 51, 25, 1] -> [51, 51, 25, 1].
void adapt_input(Node& node, const json& config) {
  const char* const key = config.contains("batch_shape") ? "batch_shape" : "batch_input_shape";
  const auto shape = config.find(key);
  if (shape == config.end() || !shape->is_array() || shape->empty())
    refuse(node.name, node.op, "'batch_shape' must be a list of sizes");
  const bool sized =
      std::all_of(shape->begin() + 1, shape->end(), [](const json& size) { return size.is_number_integer(); });
  if (!sized) refuse(node.name, node.op, fmt::format("'batch_shape' {} leaves a size open; fix it", shape->dump()));
  node.attributes["shape"] = json(std::vector<json>(shape->begin() + 1, shape->end()));
}

// A layer of its own in Keras, an activation here.
void adapt_relu(Node& node, const json&) {
  const double slope = node.attributes.value("negative_slope", 0.0);
  node.op = slope == 0 ? "Activation" : "LeakyReLU";
  node.attributes = slope == 0 ? json{{"activation", "relu"}} : json{{"negative_slope", slope}};
}

// Keras 2 said alpha.
void adapt_leaky_relu(Node& node, const json& config) {
  if (config.contains("alpha") && !config.contains("negative_slope"))
    node.attributes["negative_slope"] = config.at("alpha");
}

// Keras 2 wrote a list of one.
void adapt_batch_norm(Node& node, const json&) {
  const json& axis = node.attributes.at("axis");
  if (axis.is_array() && axis.size() == 1) node.attributes["axis"] = json(axis.at(0));
}

const std::vector<KerasLayer>& table() {
  static const json cube = {1, 1, 1};
  static const json channels_last = "channels_last";
  static const std::vector<KerasLayer> layers{
      {"InputLayer",
       {{"batch_shape", kIgnored, nullptr},
        {"batch_input_shape", kIgnored, nullptr},
        {"sparse", kDefaultOnly, false},
        {"ragged", kDefaultOnly, false},
        {"optional", kDefaultOnly, false}},
       adapt_input},
      {"Dense",
       {{"units", kKept, nullptr},
        {"activation", kKept, "linear"},
        {"use_bias", kKept, true},
        {"kernel_initializer", kInitializer, "glorot_uniform"},
        {"bias_initializer", kInitializer, "zeros"}},
       nullptr},
      {"Conv3D",
       {{"filters", kKept, nullptr},
        {"kernel_size", kKept, nullptr},
        {"strides", kKept, cube},
        {"padding", kKept, "valid"},
        {"data_format", kKept, channels_last},
        {"dilation_rate", kKept, cube},
        {"groups", kKept, 1},
        {"activation", kKept, "linear"},
        {"use_bias", kKept, true},
        {"kernel_initializer", kInitializer, "glorot_uniform"},
        {"bias_initializer", kInitializer, "zeros"}},
       nullptr},
      {"BatchNormalization",
       {{"axis", kKept, -1},
        {"momentum", kKept, 0.99},
        {"epsilon", kKept, 1e-3},
        {"center", kKept, true},
        {"scale", kKept, true},
        {"beta_initializer", kInitializer, "zeros"},
        {"gamma_initializer", kInitializer, "ones"},
        {"moving_mean_initializer", kInitializer, "zeros"},
        {"moving_variance_initializer", kInitializer, "ones"},
        {"synchronized", kDefaultOnly, false},
        {"renorm", kDefaultOnly, false},
        {"renorm_momentum", kIgnored, 0.99}},
       adapt_batch_norm},
      {"Activation", {{"activation", kKept, nullptr}}, nullptr},
      {"ReLU",
       {{"negative_slope", kKept, 0.0}, {"max_value", kDefaultOnly, nullptr}, {"threshold", kDefaultOnly, 0.0}},
       adapt_relu},
      {"LeakyReLU", {{"negative_slope", kKept, 0.3}, {"alpha", kIgnored, nullptr}}, adapt_leaky_relu},
      {"Dropout",
       {{"rate", kKept, nullptr}, {"seed", kIgnored, nullptr}, {"noise_shape", kDefaultOnly, nullptr}},
       nullptr},
      {"UpSampling3D", {{"size", kKept, {2, 2, 2}}, {"data_format", kDefaultOnly, channels_last}}, nullptr},
      {"ZeroPadding3D", {{"padding", kKept, cube}, {"data_format", kDefaultOnly, channels_last}}, nullptr},
      {"AveragePooling3D",
       {{"pool_size", kKept, {2, 2, 2}},
        {"strides", kKept, nullptr},
        {"padding", kKept, "valid"},
        {"data_format", kDefaultOnly, channels_last}},
       nullptr},
      {"Reshape", {{"target_shape", kKept, nullptr}}, nullptr},
      {"Flatten", {{"data_format", kDefaultOnly, channels_last}}, nullptr},
      {"Concatenate", {{"axis", kKept, -1}}, nullptr},
  };
  return layers;
}

const KerasLayer* find_layer(const std::string& class_name) {
  for (const KerasLayer& layer : table()) {
    if (layer.class_name == class_name) return &layer;
  }
  return nullptr;
}

// "he_uniform" <-> {"class_name": "HeUniform", ...}.
std::string read_initializer(const json& value) {
  if (value.is_string()) return value.get<std::string>();
  return keras_snake_case(value.at("class_name").get<std::string>());
}

json write_initializer(const std::string& name) {
  std::string class_name;
  bool start = true;
  for (const char letter : name) {
    if (letter != '_')
      class_name += start ? static_cast<char>(std::toupper(static_cast<unsigned char>(letter))) : letter;
    start = letter == '_';
  }
  const bool random = name != "zeros" && name != "ones";
  return {{"module", "keras.initializers"},
          {"class_name", class_name},
          {"config", random ? json{{"seed", nullptr}} : json::object()},
          {"registered_name", nullptr}};
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
  if (config.contains("dtype") && !is_float32(config.at("dtype")))
    refuse(name, class_name, fmt::format("dtype {} is not supported; build it in float32", config.at("dtype").dump()));
  if (config.contains("trainable") && config.at("trainable") == false)
    refuse(name, class_name, "the layer is frozen; set trainable = True before saving");
}

}  // namespace

Node read_keras_layer(const std::string& class_name, const json& config) {
  const auto name = config.at("name").get<std::string>();
  const KerasLayer* const layer = find_layer(class_name);
  if (layer == nullptr) {
    const auto near = nearest(class_name, keras_class_names());
    refuse(name, class_name,
           fmt::format("this layer class is not supported{}; replace the layer (known: {})",
                       near ? ", did you mean " + *near + "?" : "", fmt::join(keras_class_names(), ", ")));
  }
  check_common(name, class_name, config);
  Node node{name, class_name, json::object(), {}, {}, {}};
  for (const KerasLayerSetting& setting : layer->settings) {
    const auto found = config.find(setting.key);
    const json& value = found == config.end() ? setting.otherwise : *found;
    if (setting.kind == kDefaultOnly && value != setting.otherwise && !value.is_null()) {
      refuse(name, class_name,
             fmt::format("{} = {} is not supported (only {})", setting.key, value.dump(), setting.otherwise.dump()));
    }
    if (setting.kind == kKept && !value.is_null()) node.attributes[setting.key] = value;
    if (setting.kind == kInitializer && !value.is_null()) node.attributes[setting.key] = read_initializer(value);
  }
  for (const auto& [key, value] : config.items()) {
    const bool known = key == "name" || key == "trainable" || key == "dtype" ||
                       std::any_of(layer->settings.begin(), layer->settings.end(),
                                   [&key = key](const KerasLayerSetting& setting) { return setting.key == key; });
    if (!known && !is_off(value))
      refuse(name, class_name, fmt::format("the setting {} = {} is not supported; leave it out", key, value.dump()));
  }
  if (layer->adapt != nullptr) layer->adapt(node, config);
  return node;
}

json write_keras_layer(const Node& node) {
  const KerasLayer* const layer = find_layer(node.op);
  if (layer == nullptr) {
    refuse(node.name, node.op, "Keras has no such layer; leave it out of the exported graph");
  }
  json config{{"name", node.name}, {"trainable", true}, {"dtype", "float32"}};
  for (const KerasLayerSetting& setting : layer->settings) {
    if (setting.kind == kIgnored) continue;
    const json value = node.attributes.value(setting.key, setting.otherwise);
    // Defaults that only newer versions of Keras know are left to them.
    if (setting.kind == kDefaultOnly && is_off(value)) continue;
    config[setting.key] = setting.kind == kInitializer ? write_initializer(value.get<std::string>()) : value;
  }
  if (node.op == "InputLayer") {
    config.erase("trainable");
    config["batch_shape"] = json::array({nullptr});
    for (const int64_t size : node.output) config["batch_shape"].push_back(size);
    config["sparse"] = false;
  }
  return config;
}

std::vector<std::string> keras_class_names() {
  std::vector<std::string> names;
  for (const KerasLayer& layer : table()) names.push_back(layer.class_name);
  return names;
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

}  // namespace linac::graph
