#include "linac/model/keras/config_layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <map>

#include "linac/model/graph/layers.h"
#include "linac/model/graph/layers/image.h"
#include "linac/model/keras/keras2_config.h"
#include "linac/model/keras/layers.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;

constexpr int kNestedMax = 8;                   // models in models
constexpr int64_t kSizeMax = int64_t{1} << 24;  // one number in a layer's settings

// Sizes from the file are multiplied when shapes are inferred: none may come near overflow.
void check_sizes(const std::string& layer, const json& value) {
  if (value.is_number_integer() && (value > kSizeMax || value < -kSizeMax))
    refuse_config(fmt::format("layer '{}': {} is too large (limit {})", layer, brief(value), kSizeMax));
  int64_t product = 1;
  for (const auto& item : value.is_structured() ? value : json::array()) {
    check_sizes(layer, item);
    if (!item.is_number_integer() || item == 0) continue;
    const int64_t factor = std::abs(item.get<int64_t>());
    if (product > graph::kElementsMax / factor)
      refuse_config(
          fmt::format("layer '{}': {} holds too many elements (limit {})", layer, brief(value), graph::kElementsMax));
    product *= factor;
  }
}

/// An operation's config with its name, which Keras 3.3 wrote beside some of them only.
json named_operation(const json& description) {
  json config = description.at("config");
  if (config.is_object() && !config.contains("name") && description.contains("name"))
    config["name"] = description.at("name");
  return config;
}

/// Of a TimeDistributed that wraps a model: that; null otherwise.
json model_at_each_step(const std::string& class_name, const json& config) {
  const json inner = class_name == "TimeDistributed" ? config.value("layer", json()) : json();
  return inner.is_object() && is_model(inner.at("class_name").get<std::string>()) ? inner : json();
}

FileLayer read_named_layer(const json& original, Reading reading) {
  const json description = reading.keras2 ? modern_layer(original) : original;
  const auto class_name = description.at("class_name").get<std::string>();
  const json& config = description.at("config");
  FileLayer layer;
  const bool operation = description.value("module", json()).is_string() &&
                         description.at("module").get<std::string>().find(".ops") != std::string::npos;
  if (is_model(class_name)) {
    layer.model = read_model(class_name, config, {reading.keras2, reading.depth + 1});
    layer.node.name = layer.model->name;
  } else if (const json inner = model_at_each_step(class_name, config); !inner.is_null()) {
    layer.model = read_model(inner.at("class_name"), inner.at("config"), {reading.keras2, reading.depth + 1});
    layer.node.name = config.at("name").get<std::string>();
    layer.each_step = true;
  } else {
    layer.node = operation ? read_keras_operation(class_name, named_operation(description))
                           : read_keras_layer(class_name, config);
    check_sizes(layer.node.name, layer.node.attributes);
  }
  layer.keras2 = reading.keras2;
  const Callee callee = operation                           ? Callee::kOperation
                        : graph::is_image_layer(class_name) ? Callee::kImageLayer
                                                            : Callee::kLayer;
  layer.calls = read_calls(layer.node.name, callee, description.value("inbound_nodes", json::array()));
  if (!operation) layer.group = keras_snake_case(class_name == "Model" ? "Functional" : class_name);
  return layer;
}

/// The layer's name where the file has it, for errors.
std::string name_in(const json& description) {
  for (const json& place : {description, description.value("config", json())}) {
    const json name = place.is_object() ? place.value("name", json()) : json();
    if (name.is_string()) return name.get<std::string>();
  }
  return "";
}

FileLayer read_layer(const json& description, Reading reading) {
  try {
    return read_named_layer(description, reading);
  } catch (const json::exception& error) {
    if (!description.is_object()) throw;
    refuse_config(fmt::format("layer '{}' ({}) is not as Keras writes it ({})", name_in(description),
                              brief(description.value("class_name", json())), error.what()));
  }
}

std::vector<FileLayer> read_layers(const json& descriptions, Reading reading) {
  if (!descriptions.is_array() || descriptions.empty() || descriptions.size() > kLayersMax)
    refuse_config(fmt::format("'layers' must be a list of 1 to {} layers", kLayersMax));
  std::vector<FileLayer> layers;
  std::map<std::string, int> count;
  for (const json& description : descriptions) {
    layers.push_back(read_layer(description, reading));
    layers.back().number = static_cast<int>(layers.size()) - 1;
    std::string& group = layers.back().group;
    const int before = group.empty() ? 0 : count[group]++;
    if (before > 0) group += fmt::format("_{}", before);
  }
  return layers;
}

/// Of the input of a chain, which may stand in its first layer's settings or in the model's; null if in neither.
json first_shape(const json& config) {
  const json& first = config.at("layers").at(0).at("config");
  if (!first.is_object()) return nullptr;
  if (first.contains("batch_input_shape")) return first.at("batch_input_shape");
  if (config.contains("build_input_shape")) return config.at("build_input_shape");
  if (config.at("layers").at(0).at("class_name") == "Sequential") return first_shape(first);
  return nullptr;
}

void wire_sequential(const json& config, Reading reading, FileModel& model) {
  if (model.layers[0].node.op != "InputLayer") {
    const json shape = first_shape(config);
    FileLayer input;
    input.node.name = model.name + "_input";
    input.node.op = "InputLayer";
    if (!shape.is_null())
      input.node = read_keras_layer("InputLayer", {{"name", input.node.name}, {"batch_shape", shape}});
    else if (reading.depth == 0)
      refuse_config(fmt::format("the model '{}' has no InputLayer; build it before saving", model.name));
    input.calls.resize(1);
    model.layers.insert(model.layers.begin(), std::move(input));
  }
  for (size_t i = 1; i < model.layers.size(); ++i)
    model.layers[i].calls = {{{{model.layers[i - 1].node.name}}, json::array(), {}, json::object(), false}};
  model.inputs = {{model.layers.front().node.name}};
  model.outputs = {{model.layers.back().node.name}};
}

/// Keras 2 counts the calls of a model that has inputs of its own from 1: call 0 was the making of it. Which models
/// those are differs between its versions, but the last call is always read by somebody.
void count_calls_from_zero(FileModel& model) {
  std::map<std::string, std::vector<TensorName*>> read;
  for (FileLayer& layer : model.layers) {
    for (LayerCallArguments& call : layer.calls) {
      for (TensorName& tensor : call.tensors) read[tensor.layer].push_back(&tensor);
      if (call.mask) read[call.mask->layer].push_back(&*call.mask);
    }
  }
  for (TensorName& output : model.outputs) read[output.layer].push_back(&output);
  for (const FileLayer& layer : model.layers) {
    const std::vector<TensorName*>& names = read[layer.node.name];
    const bool from_one =
        layer.model != nullptr && std::any_of(names.begin(), names.end(),
                                              [&](const TensorName* name) { return name->call == layer.calls.size(); });
    if (!from_one) continue;
    for (TensorName* const name : names) {
      if (name->call == 0) refuse_config(fmt::format("the calls of the model '{}' are not in order", layer.node.name));
      --name->call;
    }
  }
}

}  // namespace

bool is_model(const std::string& class_name) {
  return class_name == "Functional" || class_name == "Model" || class_name == "Sequential";
}

std::shared_ptr<const FileModel> read_model(const std::string& class_name, const json& given, Reading reading) {
  if (reading.depth > kNestedMax) refuse_config(fmt::format("models in models are too deep (limit {})", kNestedMax));
  // Sequential models of early Keras 2 are nothing but the list.
  const json config = given.is_array() ? json{{"name", "sequential"}, {"layers", given}} : given;
  auto model = std::make_shared<FileModel>();
  model->name = config.value("name", "model");
  model->layers = read_layers(config.at("layers"), reading);
  if (class_name == "Sequential") {
    wire_sequential(config, reading, *model);
  } else {
    model->inputs = read_tensor_names(config.at("input_layers"));
    model->outputs = read_tensor_names(config.at("output_layers"));
    if (reading.keras2) count_calls_from_zero(*model);
  }
  return model;
}

}  // namespace linac::keras
