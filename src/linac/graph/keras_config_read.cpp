#include <fmt/format.h>

#include <map>
#include <memory>
#include <queue>
#include <set>

#include "linac/base/error.h"
#include "linac/graph/keras_calls.h"
#include "linac/graph/keras_config.h"
#include "linac/graph/keras_layers.h"

namespace linac::graph {
namespace {

using nlohmann::json;

constexpr size_t kLayersMax = 100'000;
constexpr int kDepthMax = 200;                  // of the text: what walks it calls itself
constexpr int kNestedMax = 8;                   // models in models
constexpr int64_t kSizeMax = int64_t{1} << 24;  // one number in a layer's settings

[[noreturn]] void refuse(const std::string& why) {
  throw user_error("[keras] config.json: " + why);
}

// Sizes from the file are multiplied when shapes are inferred: none may come near overflow.
void check_sizes(const std::string& layer, const json& value) {
  if (value.is_number_integer() && (value > kSizeMax || value < -kSizeMax))
    refuse(fmt::format("layer '{}': {} is too large (limit {})", layer, value.dump(), kSizeMax));
  int64_t product = 1;
  for (const auto& item : value.is_structured() ? value : json::array()) {
    check_sizes(layer, item);
    if (!item.is_number_integer() || item == 0) continue;
    const int64_t factor = std::abs(item.get<int64_t>());
    if (product > kElementsMax / factor)
      refuse(fmt::format("layer '{}': {} holds too many elements (limit {})", layer, value.dump(), kElementsMax));
    product *= factor;
  }
}

struct Model;

/// A layer of the file, with its calls still by name.
struct Layer {
  Node node;
  std::shared_ptr<const Model> model;  // instead of a node: a model used as a layer
  std::string group;                   // "conv3d_1"; empty for operations
  std::vector<LayerCallArguments> calls;
};

struct Model {
  std::string name;
  std::vector<Layer> layers;
  std::vector<TensorName> inputs, outputs;
};

bool is_model(const std::string& class_name) {
  return class_name == "Functional" || class_name == "Model" || class_name == "Sequential";
}

std::shared_ptr<const Model> read_model(const std::string& class_name, const json& config, int depth);

Layer read_layer(const json& description, int depth) {
  const auto class_name = description.at("class_name").get<std::string>();
  const json& config = description.at("config");
  Layer layer;
  const bool operation = description.value("module", json()).is_string() &&
                         description.at("module").get<std::string>().find(".ops") != std::string::npos;
  if (is_model(class_name)) {
    layer.model = read_model(class_name, config, depth + 1);
    layer.node.name = layer.model->name;
  } else {
    layer.node = operation ? read_keras_operation(class_name, config) : read_keras_layer(class_name, config);
    check_sizes(layer.node.name, layer.node.attributes);
  }
  layer.calls = read_calls(layer.node.name, operation, description.value("inbound_nodes", json::array()));
  if (!operation) layer.group = keras_snake_case(class_name == "Model" ? "Functional" : class_name);
  return layer;
}

std::vector<Layer> read_layers(const json& descriptions, int depth) {
  if (!descriptions.is_array() || descriptions.empty() || descriptions.size() > kLayersMax)
    refuse(fmt::format("'layers' must be a list of 1 to {} layers", kLayersMax));
  std::vector<Layer> layers;
  std::map<std::string, int> count;
  for (const json& description : descriptions) {
    layers.push_back(read_layer(description, depth));
    std::string& group = layers.back().group;
    const int before = group.empty() ? 0 : count[group]++;
    if (before > 0) group += fmt::format("_{}", before);
  }
  return layers;
}

/// A chain, whose input may stand in its first layer's settings or in the model's.
void wire_sequential(const json& config, Model& model) {
  if (model.layers[0].node.op != "InputLayer") {
    const json& first = config.at("layers").at(0).at("config");
    json shape = first.value("batch_input_shape", config.value("build_input_shape", json()));
    if (shape.is_null()) refuse(fmt::format("the model '{}' has no InputLayer; build it before saving", model.name));
    Layer input;
    input.node = read_keras_layer("InputLayer", {{"name", model.name + "_input"}, {"batch_shape", shape}});
    input.calls.resize(1);
    model.layers.insert(model.layers.begin(), std::move(input));
  }
  for (size_t i = 1; i < model.layers.size(); ++i)
    model.layers[i].calls = {{{{model.layers[i - 1].node.name}}, json::array(), {}, false}};
  model.inputs = {{model.layers.front().node.name}};
  model.outputs = {{model.layers.back().node.name}};
}

std::shared_ptr<const Model> read_model(const std::string& class_name, const json& config, int depth) {
  if (depth > kNestedMax) refuse(fmt::format("models in models are too deep (limit {})", kNestedMax));
  auto model = std::make_shared<Model>();
  model->name = config.value("name", "model");
  model->layers = read_layers(config.at("layers"), depth);
  if (class_name == "Sequential") {
    wire_sequential(config, *model);
  } else {
    model->inputs = read_tensor_names(config.at("input_layers"));
    model->outputs = read_tensor_names(config.at("output_layers"));
  }
  return model;
}

/// Writes the calls of a model and of the models in it down as nodes, inputs first.
class Assembly {
 public:
  /// The nodes of the model's outputs. `inputs`: the nodes that stand for its input layers, if it is used as a layer;
  /// otherwise they become nodes themselves.
  std::vector<int> add(const Model& model, const std::vector<int>* inputs, const std::string& prefix,
                       const std::string& path);

  KerasConfig result;

 private:
  struct Unit {  // one call of one layer
    size_t layer, call;
    std::vector<size_t> needs;  // units
    size_t missing = 0;
    std::vector<size_t> readers;
    std::vector<int> outputs;  // nodes
  };

  std::vector<int> place(const Model& model, const Layer& layer, size_t call, const std::vector<int>& inputs, int mask,
                         const std::string& prefix, const std::string& path);
  std::string unused_name(const std::string& wanted);

  std::map<std::string, int> first_nodes_;  // by group in the file: the first call of each layer
  std::set<std::string> names_;
  size_t models_ = 0;
};

std::string Assembly::unused_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; !names_.insert(name).second; ++i) name = fmt::format("{}_{}", wanted, i);
  return name;
}

std::vector<int> Assembly::place(const Model& model, const Layer& layer, size_t call, const std::vector<int>& inputs,
                                 int mask, const std::string& prefix, const std::string& path) {
  const std::string group = path + "layers/" + layer.group;
  if (layer.model != nullptr) return add(*layer.model, &inputs, prefix + layer.node.name + "_", group + "/");
  if (result.graph.nodes.size() >= kLayersMax) refuse(fmt::format("the model '{}' has too many calls", model.name));
  Node node = layer.node;
  node.name = unused_name(prefix + node.name);
  node.inputs = inputs;
  node.mask = mask;
  const LayerCallArguments& arguments = layer.calls[call];
  if (is_operation(node)) node.attributes["arguments"] = arguments.arguments;
  if (arguments.causal) node.attributes["use_causal_mask"] = true;
  const int index = static_cast<int>(result.graph.nodes.size());
  if (!layer.group.empty()) {
    const auto [first, is_new] = first_nodes_.emplace(group, index);
    if (!is_new) node.shares = first->second;
  }
  result.graph.nodes.push_back(std::move(node));
  result.groups.push_back(group);
  return {index};
}

std::vector<int> Assembly::add(const Model& model, const std::vector<int>* inputs, const std::string& prefix,
                               const std::string& path) {
  if (++models_ > kLayersMax) refuse(fmt::format("the model '{}' is called too often", model.name));
  std::map<std::string, size_t> first_unit;  // of each layer
  std::vector<Unit> units;
  for (size_t i = 0; i < model.layers.size(); ++i) {
    if (!first_unit.emplace(model.layers[i].node.name, units.size()).second)
      refuse(fmt::format("two layers are called '{}'", model.layers[i].node.name));
    for (size_t call = 0; call < model.layers[i].calls.size(); ++call) units.push_back({i, call, {}, 0, {}, {}});
  }
  const auto find = [&](const std::string& reader, const TensorName& name) {
    const auto found = first_unit.find(name.layer);
    if (found == first_unit.end()) refuse(fmt::format("layer '{}' reads '{}', which is not there", reader, name.layer));
    if (name.call >= model.layers[units[found->second].layer].calls.size())
      refuse(fmt::format("layer '{}' reads call {} of '{}', which is not there", reader, name.call, name.layer));
    return found->second + name.call;
  };
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;  // the file's own order wherever it will do
  for (size_t u = 0; u < units.size(); ++u) {
    const Layer& layer = model.layers[units[u].layer];
    const LayerCallArguments& call = layer.calls[units[u].call];
    for (const TensorName& tensor : call.tensors) units[u].needs.push_back(find(layer.node.name, tensor));
    if (call.mask) units[u].needs.push_back(find(layer.node.name, *call.mask));
    for (const size_t needed : units[u].needs) units[needed].readers.push_back(u);
    units[u].missing = units[u].needs.size();
    if (units[u].missing == 0) ready.push(u);
  }
  const auto node_of = [&](const std::string& reader, const TensorName& name) {
    const auto& outputs = units[find(reader, name)].outputs;
    if (name.output >= outputs.size())
      refuse(fmt::format("layer '{}' reads output {} of '{}'; layers with several outputs are not supported", reader,
                         name.output, name.layer));
    return outputs[name.output];
  };
  std::map<std::string, size_t> place_of_input;
  for (size_t i = 0; i < model.inputs.size(); ++i) place_of_input[model.inputs[i].layer] = i;

  size_t placed = 0;
  for (; !ready.empty(); ++placed) {
    const size_t u = ready.top();
    ready.pop();
    const Layer& layer = model.layers[units[u].layer];
    const LayerCallArguments& call = layer.calls[units[u].call];
    std::vector<int> arguments;
    for (const TensorName& tensor : call.tensors) arguments.push_back(node_of(layer.node.name, tensor));
    const int mask = call.mask ? node_of(layer.node.name, *call.mask) : -1;
    const auto input = place_of_input.find(layer.node.name);
    if (inputs != nullptr && input != place_of_input.end()) {
      if (inputs->size() != model.inputs.size())
        refuse(fmt::format("the model '{}' is called with {} inputs and has {}", model.name, inputs->size(),
                           model.inputs.size()));
      units[u].outputs = {(*inputs)[input->second]};
    } else {
      units[u].outputs = place(model, layer, units[u].call, arguments, mask, prefix, path);
    }
    for (const size_t reader : units[u].readers) {
      if (--units[reader].missing == 0) ready.push(reader);
    }
  }
  for (const Unit& unit : units) {
    if (unit.missing > 0)
      refuse(fmt::format("layer '{}' is part of a cycle or behind one", model.layers[unit.layer].node.name));
  }
  std::vector<int> outputs;
  for (const TensorName& output : model.outputs) outputs.push_back(node_of(model.name, output));
  if (inputs == nullptr) {
    for (const TensorName& input : model.inputs) {
      result.graph.inputs.push_back(node_of(model.name, input));
      if (result.graph.nodes[static_cast<size_t>(result.graph.inputs.back())].op != "InputLayer")
        refuse(fmt::format("the input '{}' is not an InputLayer", input.layer));
    }
  }
  return outputs;
}

}  // namespace

KerasConfig read_keras_config(const std::string& text) {
  try {
    const json description = json::parse(text, [](int depth, json::parse_event_t, json&) {
      if (depth > kDepthMax) refuse(fmt::format("lists in lists are too deep (limit {})", kDepthMax));
      return true;
    });
    const auto class_name = description.at("class_name").get<std::string>();
    if (!is_model(class_name))
      refuse(fmt::format("a model of class '{}' is not supported (only Functional and Sequential)", class_name));
    const auto model = read_model(class_name, description.at("config"), 0);
    Assembly assembly;
    assembly.result.graph.name = model->name;
    assembly.result.graph.outputs = assembly.add(*model, nullptr, "", "");
    infer_shapes(assembly.result.graph);
    return std::move(assembly.result);
  } catch (const json::exception& error) {
    refuse(fmt::format("not the description of a Keras model ({}); save it with model.save()", error.what()));
  }
}

}  // namespace linac::graph
