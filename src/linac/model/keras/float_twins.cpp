#include "linac/model/keras/float_twins.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <iterator>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers.h"
#include "linac/model/keras/layers.h"

namespace linac::keras {
namespace {

using nlohmann::json;

constexpr const char* kTwinOf = "twin_of";
constexpr const char* kLinear[] = {"QDense", "QConv1D", "QConv2D", "QConv3D", "QDepthwiseConv2D"};

[[noreturn]] void refuse(const json& config, const std::string& class_name, const std::string& why) {
  throw user_error(fmt::format("[keras] layer '{}' ({}): {}; a quantized model predicts in the program that trained it",
                               config.value("name", ""), class_name, why));
}

struct Quantizer {
  std::string name = {};
  json config = json::object();
};

json number_or_text(const std::string& text) {
  if (text == "True" || text == "False") return text == "True";
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  return error == std::errc{} && end == text.data() + text.size() ? json(value) : json(text);
}

// "quantized_bits(6,0,alpha=1)": the settings of quantized_bits and quantized_relu begin with these two.
Quantizer parsed(std::string text) {
  std::erase(text, ' ');
  const size_t open = text.find('(');
  Quantizer read{text.substr(0, open), json::object()};
  if (open == std::string::npos) return read;
  const std::string inside = text.substr(open + 1, text.rfind(')') - open - 1);
  static const std::array<const char*, 2> first{"bits", "integer"};
  size_t number = 0;
  for (size_t begin = 0; begin < inside.size();) {
    const size_t end = std::min(inside.find(',', begin), inside.size());
    const std::string word = inside.substr(begin, end - begin);
    const size_t equals = word.find('=');
    if (equals != std::string::npos)
      read.config[word.substr(0, equals)] = number_or_text(word.substr(equals + 1));
    else
      read.config[number < first.size() ? first.at(number) : fmt::format("setting {}", number + 1)] =
          number_or_text(word);
    ++number;
    begin = end + 1;
  }
  return read;
}

Quantizer read_quantizer(const json& value) {
  if (value.is_null()) return {};
  if (value.is_string()) return parsed(value.get<std::string>());
  if (value.is_object() && value.contains("class_name") && value["class_name"].is_string())
    return {value["class_name"].get<std::string>(), value.value("config", json::object())};
  return {"?", json::object()};
}

double setting(const Quantizer& of, const char* key, double otherwise) {
  const json value = of.config.value(key, json());
  if (value.is_boolean()) return value.get<bool>() ? 1 : 0;
  return value.is_number() ? value.get<double>() : otherwise;
}

// What a quantizer of values does beside rounding, by QKeras 0.9 (quantizers.py): it cuts.
graph::Node cut_by(const Quantizer& quantizer, const std::string& class_name, const json& config) {
  const std::string name = config.at("name");
  const double integer = std::exp2(setting(quantizer, "integer", 0)), bits = setting(quantizer, "bits", 8);
  if (quantizer.name == "quantized_relu") {
    for (const char* other : {"use_sigmoid", "negative_slope", "setting 3", "setting 4"})
      if (setting(quantizer, other, 0) != 0) refuse(config, class_name, fmt::format("{} of a quantized_relu", other));
    if (quantizer.config.value("is_quantized_clip", json(true)) == false)
      return read_keras_layer("ReLU",
                              {{"name", name}, {"max_value", quantizer.config.value("relu_upper_bound", json())}});
    return read_keras_layer("ReLU", {{"name", name}, {"max_value", integer * (1 - std::exp2(-bits))}});
  }
  if (quantizer.name == "quantized_bits") {
    const json alpha = quantizer.config.value("alpha", json());
    if (!alpha.is_null() && alpha != 1) refuse(config, class_name, "scales values by those beside them (alpha)");
    const bool negative = setting(quantizer, "keep_negative", 1) != 0;
    const double step = std::exp2(-(bits - (negative ? 1 : 0))), symmetric = setting(quantizer, "symmetric", 0);
    const double low = negative ? -1 + symmetric * step : 0;
    return read_keras_operation("Clip", {{"name", name}, {"x_min", integer * low}, {"x_max", integer * (1 - step)}});
  }
  if (quantizer.name == "relu" || quantizer.name == "linear" || quantizer.name == "softmax" ||
      quantizer.name == "tanh" || quantizer.name == "sigmoid")
    return read_keras_layer("Activation", {{"name", name}, {"activation", quantizer.name}});
  refuse(config, class_name, fmt::format("'{}' is more than a float layer with its values cut", quantizer.name));
}

json plain_initializer(const json& value) {
  const bool wrapped = value.is_object() && value.value("class_name", json()) == "QInitializer";
  return wrapped ? value.at("config").value("initializer", json()) : value;
}

std::string of_bits(const Quantizer& kernel) {
  const json bits = kernel.config.value("bits", json());
  return bits.is_number() ? fmt::format(", {:g} bits", bits.get<double>()) : "";
}

// A layer of weights: what the float layer does not know is of the quantizers, and of training.
graph::Node linear_twin(const std::string& class_name, const json& config) {
  const std::string twin = class_name.substr(1);
  Quantizer kernel;
  for (const char* key : {"kernel_quantizer", "depthwise_quantizer", "bias_quantizer"}) {
    const Quantizer one = read_quantizer(config.value(key, json()));
    if (!one.name.empty() && one.name != "quantized_bits" && one.name != "quantized_linear")
      refuse(config, class_name, fmt::format("{} = {}: rounded weights are another model", key, one.name));
    if (kernel.name.empty()) kernel = one;
  }
  const json activation = config.value("activation", json());
  if (const Quantizer values = read_quantizer(activation); values.name.starts_with("quantized_"))
    refuse(config, class_name, fmt::format("activation = {}: put it behind, as a QActivation", values.name));
  json plain{{"name", config.at("name")}};
  for (const graph::Setting& setting : graph::find_layer_kind(twin)->settings) {
    if (!config.contains(setting.key)) continue;
    plain[setting.key] =
        setting.kind == graph::SettingKind::kInitializer ? plain_initializer(config[setting.key]) : config[setting.key];
  }
  graph::Node node = read_keras_layer(twin, plain);
  node.attributes[kTwinOf] = class_name + of_bits(kernel);
  return node;
}

}  // namespace

std::optional<graph::Node> float_twin(const std::string& class_name, const json& config) {
  if (class_name == "QActivation") {
    const Quantizer quantizer = read_quantizer(config.value("activation", json()));
    graph::Node node = cut_by(quantizer, class_name, config);
    node.attributes[kTwinOf] = class_name + of_bits(quantizer);
    return node;
  }
  if (std::ranges::find(kLinear, class_name) == std::end(kLinear)) return std::nullopt;
  return linear_twin(class_name, config);
}

bool is_float_twin(const graph::Node& node) {
  return node.attributes.is_object() && node.attributes.contains(kTwinOf);
}

std::vector<std::string> float_twins(const graph::Graph& graph) {
  std::vector<std::string> twins;
  for (const graph::Node& node : graph.nodes)
    if (is_float_twin(node))
      twins.push_back(fmt::format("{} ({})", node.name, node.attributes.at(kTwinOf).get<std::string>()));
  return twins;
}

}  // namespace linac::keras
