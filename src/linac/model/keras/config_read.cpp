#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <set>

#include "linac/base/base/error.h"
#include "linac/model/graph/calls.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/layers/image.h"
#include "linac/model/graph/masks.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/keras/calls.h"
#include "linac/model/keras/config.h"
#include "linac/model/keras/keras2_config.h"
#include "linac/model/keras/layers.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;

constexpr size_t kLayersMax = 100'000;
constexpr int kDepthMax = 200;                  // of the text: what walks it calls itself
constexpr int kNestedMax = 8;                   // models in models
constexpr int64_t kStepsMax = 256;              // at which a model is called
constexpr int64_t kSizeMax = int64_t{1} << 24;  // one number in a layer's settings

[[noreturn]] void refuse(const std::string& why) {
  throw user_error("[keras] config.json: " + why);
}

// Sizes from the file are multiplied when shapes are inferred: none may come near overflow.
void check_sizes(const std::string& layer, const json& value) {
  if (value.is_number_integer() && (value > kSizeMax || value < -kSizeMax))
    refuse(fmt::format("layer '{}': {} is too large (limit {})", layer, brief(value), kSizeMax));
  int64_t product = 1;
  for (const auto& item : value.is_structured() ? value : json::array()) {
    check_sizes(layer, item);
    if (!item.is_number_integer() || item == 0) continue;
    const int64_t factor = std::abs(item.get<int64_t>());
    if (product > graph::kElementsMax / factor)
      refuse(
          fmt::format("layer '{}': {} holds too many elements (limit {})", layer, brief(value), graph::kElementsMax));
    product *= factor;
  }
}

struct Model;

/// A layer of the file, with its calls still by name.
struct Layer {
  graph::Node node;
  std::shared_ptr<const Model> model;  // instead of a node: a model used as a layer
  bool each_step = false;              // the model is called at each step (TimeDistributed)
  std::string group;                   // "conv3d_1"; empty for operations
  int number = -1;                     // in the model's list; -1 for an input that is not in it
  bool keras2 = false;                 // what wrote it
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

/// How the file is to be understood.
struct Reading {
  bool keras2;
  int depth;  // of the model in models
};

/// An operation's config with its name, which Keras 3.3 wrote beside some of them only.
json named_operation(const json& description) {
  json config = description.at("config");
  if (config.is_object() && !config.contains("name") && description.contains("name"))
    config["name"] = description.at("name");
  return config;
}

std::shared_ptr<const Model> read_model(const std::string& class_name, const json& config, Reading reading);

/// Of a TimeDistributed that wraps a model: that; null otherwise.
json model_at_each_step(const std::string& class_name, const json& config) {
  const json inner = class_name == "TimeDistributed" ? config.value("layer", json()) : json();
  return inner.is_object() && is_model(inner.at("class_name").get<std::string>()) ? inner : json();
}

Layer read_named_layer(const json& original, Reading reading) {
  const json description = reading.keras2 ? modern_layer(original) : original;
  const auto class_name = description.at("class_name").get<std::string>();
  const json& config = description.at("config");
  Layer layer;
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

Layer read_layer(const json& description, Reading reading) {
  try {
    return read_named_layer(description, reading);
  } catch (const json::exception& error) {
    if (!description.is_object()) throw;
    refuse(fmt::format("layer '{}' ({}) is not as Keras writes it ({})", name_in(description),
                       brief(description.value("class_name", json())), error.what()));
  }
}

std::vector<Layer> read_layers(const json& descriptions, Reading reading) {
  if (!descriptions.is_array() || descriptions.empty() || descriptions.size() > kLayersMax)
    refuse(fmt::format("'layers' must be a list of 1 to {} layers", kLayersMax));
  std::vector<Layer> layers;
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

void wire_sequential(const json& config, Reading reading, Model& model) {
  if (model.layers[0].node.op != "InputLayer") {
    const json shape = first_shape(config);
    Layer input;
    input.node.name = model.name + "_input";
    input.node.op = "InputLayer";
    if (!shape.is_null())
      input.node = read_keras_layer("InputLayer", {{"name", input.node.name}, {"batch_shape", shape}});
    else if (reading.depth == 0)
      refuse(fmt::format("the model '{}' has no InputLayer; build it before saving", model.name));
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
void count_calls_from_zero(Model& model) {
  std::map<std::string, std::vector<TensorName*>> read;
  for (Layer& layer : model.layers) {
    for (LayerCallArguments& call : layer.calls) {
      for (TensorName& tensor : call.tensors) read[tensor.layer].push_back(&tensor);
      if (call.mask) read[call.mask->layer].push_back(&*call.mask);
    }
  }
  for (TensorName& output : model.outputs) read[output.layer].push_back(&output);
  for (const Layer& layer : model.layers) {
    const std::vector<TensorName*>& names = read[layer.node.name];
    const bool from_one =
        layer.model != nullptr && std::any_of(names.begin(), names.end(),
                                              [&](const TensorName* name) { return name->call == layer.calls.size(); });
    if (!from_one) continue;
    for (TensorName* const name : names) {
      if (name->call == 0) refuse(fmt::format("the calls of the model '{}' are not in order", layer.node.name));
      --name->call;
    }
  }
}

std::shared_ptr<const Model> read_model(const std::string& class_name, const json& given, Reading reading) {
  if (reading.depth > kNestedMax) refuse(fmt::format("models in models are too deep (limit {})", kNestedMax));
  // Sequential models of early Keras 2 are nothing but the list.
  const json config = given.is_array() ? json{{"name", "sequential"}, {"layers", given}} : given;
  auto model = std::make_shared<Model>();
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

/// The calls of a model's layers, each by a number, and what each reads.
class Calls {
 public:
  struct Call {
    const Layer* layer;
    size_t number;  // among the layer's calls
    const LayerCallArguments& arguments() const { return layer->calls[number]; }
  };

  explicit Calls(const Model& model) {
    for (const Layer& layer : model.layers) {
      if (!first_.emplace(layer.node.name, calls_.size()).second)
        refuse(fmt::format("two layers are called '{}'", layer.node.name));
      for (size_t number = 0; number < layer.calls.size(); ++number) calls_.push_back({&layer, number});
    }
  }

  size_t size() const { return calls_.size(); }
  const Call& operator[](size_t i) const { return calls_[i]; }

  size_t find(const std::string& reader, const TensorName& name) const {
    const auto found = first_.find(name.layer);
    if (found == first_.end()) refuse(fmt::format("layer '{}' reads '{}', which is not there", reader, name.layer));
    if (name.call >= calls_[found->second].layer->calls.size())
      refuse(fmt::format("layer '{}' reads call {} of '{}', which is not there", reader, name.call, name.layer));
    return found->second + name.call;
  }

  /// What is read comes first; the file's own order wherever that will do.
  std::vector<size_t> order() const {
    std::vector<size_t> missing(size());
    std::vector<std::vector<size_t>> readers(size());
    std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
    for (size_t i = 0; i < size(); ++i) {
      const LayerCallArguments& arguments = calls_[i].arguments();
      const std::string& name = calls_[i].layer->node.name;
      for (const TensorName& tensor : arguments.tensors) readers[find(name, tensor)].push_back(i);
      if (arguments.mask) readers[find(name, *arguments.mask)].push_back(i);
      missing[i] = arguments.tensors.size() + (arguments.mask ? 1 : 0);
      if (missing[i] == 0) ready.push(i);
    }
    std::vector<size_t> order;
    while (!ready.empty()) {
      order.push_back(ready.top());
      ready.pop();
      for (const size_t reader : readers[order.back()]) {
        if (--missing[reader] == 0) ready.push(reader);
      }
    }
    for (size_t i = 0; i < size(); ++i) {
      if (missing[i] > 0)
        refuse(fmt::format("layer '{}' is part of a cycle or behind one", calls_[i].layer->node.name));
    }
    return order;
  }

 private:
  std::map<std::string, size_t> first_;  // of each layer
  std::vector<Call> calls_;
};

void infer(graph::Graph& graph) {
  try {
    graph::infer_shapes(graph);
  } catch (const Error& error) {
    if (!graph::has_open_sizes(graph)) throw;
    throw Error(error.code(), fmt::format("{} (sizes that the model leaves open were taken as {}; give them to Input)",
                                          error.what(), graph::kProvisionalSize));
  }
}

/// What a model inside the model adds to the names and places of its layers.
struct Surroundings {
  std::string prefix;     // of names
  std::string path;       // of groups
  KerasPlace place;       // of the model itself
  bool predicts = false;  // in training too (LayerCallArguments::predicts)
};

/// Writes the calls of a model and of the models in it down as nodes, inputs first.
class Assembly {
 public:
  /// The nodes of the model's outputs. `inputs`: the nodes that stand for its input layers, if it is used as a layer;
  /// null for the whole model, whose inputs become nodes themselves.
  std::vector<int> add(const Model& model, const std::vector<int>* inputs, const Surroundings& around);

  KerasConfig result;

 private:
  std::vector<int> place(const Calls::Call& call, const std::vector<int>& inputs, int mask, const Surroundings& around);
  /// A model that is called at each step: Keras cuts the steps out, calls it as often, and joins what it gives.
  std::vector<int> add_at_steps(const Layer& layer, const std::vector<int>& inputs, const Surroundings& inside,
                                const std::string& name);
  int operation(const std::string& op, const std::string& name, const std::vector<int>& inputs, json attributes,
                const KerasPlace& place);
  /// The node of output `number` of a node.
  int part(int node, size_t number);
  std::string unused_name(const std::string& wanted);

  std::map<std::string, int> first_nodes_;  // by group in the file: the first call of each layer
  std::map<std::pair<int, size_t>, int> parts_;
  std::set<std::string> names_;
  std::set<std::string> layers_;  // names that further calls of other layers leave alone
  size_t models_ = 0;
};

std::string Assembly::unused_name(const std::string& wanted) {
  std::string name = wanted;
  for (int i = 1; names_.contains(name) || (i > 1 && layers_.contains(name)); ++i)
    name = fmt::format("{}_{}", wanted, i);
  names_.insert(name);
  return name;
}

std::vector<int> Assembly::place(const Calls::Call& call, const std::vector<int>& inputs, int mask,
                                 const Surroundings& around) {
  const Layer& layer = *call.layer;
  const std::string group = around.path + "layers/" + layer.group;
  KerasPlace place = around.place;
  if (place.numbers.empty()) place.layer = layer.node.name;
  place.numbers.push_back(layer.number);
  const bool predicts = around.predicts || call.arguments().predicts;
  if (layer.model != nullptr) {
    for (const auto& [key, value] : call.arguments().switches.items())
      refuse(fmt::format("the model '{}' is called with {}, which is not supported", layer.node.name, key));
    if (mask >= 0) {
      refuse(fmt::format("the model '{}' is called with a mask, which is not supported; put a Masking layer inside",
                         layer.node.name));
    }
    const std::string prefix = around.prefix + layer.node.name;
    if (layer.each_step) return add_at_steps(layer, inputs, {prefix + "_", group + "/layer/", place, predicts}, prefix);
    return add(*layer.model, &inputs, {prefix + "_", group + "/", place, predicts});
  }
  if (result.graph.nodes.size() >= kLayersMax) refuse(fmt::format("more than {} calls of layers", kLayersMax));
  graph::Node node = layer.node;
  node.name = unused_name(around.prefix + node.name);
  node.inputs = inputs;
  node.mask = mask;
  if (is_operation(node)) node.attributes["arguments"] = call.arguments().arguments;
  node.attributes.update(call.arguments().switches);
  if (predicts) node.attributes[graph::kTraining] = false;
  if (layer.keras2 && inputs.size() > 1 && graph::has_states(node)) node.attributes["mask_with_states"] = true;
  const int index = static_cast<int>(result.graph.nodes.size());
  if (!layer.group.empty()) {
    const auto [first, is_new] = first_nodes_.emplace(group, index);
    if (!is_new) node.shares = first->second;
  }
  result.graph.nodes.push_back(std::move(node));
  result.groups.push_back(group);
  result.places.push_back(std::move(place));
  return {index};
}

int Assembly::operation(const std::string& op, const std::string& name, const std::vector<int>& inputs, json attributes,
                        const KerasPlace& place) {
  if (result.graph.nodes.size() >= kLayersMax) refuse(fmt::format("more than {} calls of layers", kLayersMax));
  graph::Node node;
  node.name = unused_name(name);
  node.op = op;
  node.inputs = inputs;
  node.attributes = std::move(attributes);
  result.graph.nodes.push_back(std::move(node));
  result.groups.emplace_back();
  result.places.push_back(place);
  return static_cast<int>(result.graph.nodes.size()) - 1;
}

std::vector<int> Assembly::add_at_steps(const Layer& layer, const std::vector<int>& inputs, const Surroundings& inside,
                                        const std::string& name) {
  const auto need = [&](bool holds, const std::string& why) {
    if (!holds) refuse(fmt::format("layer '{}' (TimeDistributed of a model) {}", name, why));
  };
  need(inputs.size() == 1 && layer.model->outputs.size() == 1, "is supported for models of one input and one output");
  graph::Graph so_far = result.graph;
  so_far.inputs.clear();  // they are named when all layers are there
  for (size_t i = 0; i < so_far.nodes.size(); ++i)
    if (so_far.nodes[i].op == "InputLayer") so_far.inputs.push_back(static_cast<int>(i));
  infer(so_far);
  const auto input = static_cast<size_t>(inputs[0]);
  const graph::Shape& shape = so_far.nodes[input].output;
  need(!shape.empty(), "needs steps of at least one axis");
  need(!graph::has_open_sizes(so_far) || !graph::following_axes(so_far)[input][0],
       "needs a known number of steps; give it to Input");
  need(shape[0] <= kStepsMax, fmt::format("has {} steps (limit {})", shape[0], kStepsMax));
  need(!graph::has_mask(so_far, inputs[0]), "follows a mask, which is not supported; put the Masking behind it");
  const size_t first = result.graph.nodes.size();
  const json all{{"class_name", "__slice__"}, {"config", {{"start", nullptr}, {"stop", nullptr}, {"step", nullptr}}}};
  std::vector<int> steps;
  for (int64_t step = 0; step < shape[0]; ++step) {
    const std::vector<int> cut{operation("ops.GetItem", fmt::format("{}_step_{}", name, step), inputs,
                                         {{"arguments", {nullptr, {all, step}}}}, inside.place)};
    steps.push_back(add(*layer.model, &cut, inside).at(0));
  }
  const bool learns = std::any_of(
      result.graph.nodes.begin() + static_cast<int64_t>(first), result.graph.nodes.end(), [](const graph::Node& node) {
        return node.op == "BatchNormalization" && !graph::is_frozen(node) && !graph::always_predicts(node);
      });
  need(!learns || !layer.keras2,
       "holds a BatchNormalization, for which Keras 2 takes all steps together, and Keras 3 each by itself; save the "
       "model with Keras 3");
  return {operation("ops.Stack", name, steps, {{"axis", 1}, {"arguments", std::vector<json>(steps.size(), nullptr)}},
                    inside.place)};
}

int Assembly::part(int node, size_t number) {
  if (number == 0) return node;
  const auto [found, is_new] = parts_.emplace(std::pair{node, number}, static_cast<int>(result.graph.nodes.size()));
  if (!is_new) return found->second;
  if (number > kLayersMax || result.graph.nodes.size() >= kLayersMax)
    refuse(fmt::format("more than {} outputs of layers", kLayersMax));
  const graph::Node& source = result.graph.nodes[static_cast<size_t>(node)];
  graph::Node part;
  part.name = unused_name(fmt::format("{}_output_{}", source.name, number));
  part.op = graph::kPart;
  part.attributes = {{"index", number}};
  if (number == 1 && source.op == "Bidirectional" && !source.attributes.contains("merge_mode"))
    part.attributes["masked"] = true;
  part.inputs = {node};
  result.graph.nodes.push_back(std::move(part));
  result.groups.emplace_back();
  result.places.push_back(result.places[static_cast<size_t>(node)]);
  return found->second;
}

std::vector<int> Assembly::add(const Model& model, const std::vector<int>* inputs, const Surroundings& around) {
  if (++models_ > kLayersMax) refuse(fmt::format("the model '{}' is called too often", model.name));
  if (inputs != nullptr && inputs->size() != model.inputs.size()) {
    refuse(fmt::format("the model '{}' is called with {} inputs and has {}", model.name, inputs->size(),
                       model.inputs.size()));
  }
  for (const Layer& layer : model.layers) layers_.insert(around.prefix + layer.node.name);
  const Calls calls(model);
  std::vector<std::vector<int>> outputs(calls.size());  // nodes of each call
  const auto node_of = [&](const std::string& reader, const TensorName& name) {
    const size_t call = calls.find(reader, name);
    const std::vector<int>& nodes = outputs[call];
    const Layer& layer = *calls[call].layer;
    if (layer.model == nullptr && layer.node.op != "InputLayer") return part(nodes.at(0), name.output);
    if (name.output >= nodes.size())
      refuse(fmt::format("'{}' reads output {} of '{}', which has {}", reader, name.output, name.layer, nodes.size()));
    return nodes[name.output];
  };
  std::map<std::string, int> given;
  for (size_t i = 0; inputs != nullptr && i < inputs->size(); ++i) given[model.inputs[i].layer] = (*inputs)[i];
  for (const size_t i : calls.order()) {
    const std::string& name = calls[i].layer->node.name;
    const LayerCallArguments& arguments = calls[i].arguments();
    std::vector<int> tensors;
    for (const TensorName& tensor : arguments.tensors) tensors.push_back(node_of(name, tensor));
    const int mask = arguments.mask ? node_of(name, *arguments.mask) : -1;
    const auto input = given.find(name);
    outputs[i] = input != given.end() ? std::vector{input->second} : place(calls[i], tensors, mask, around);
  }
  if (inputs == nullptr) {
    for (const TensorName& input : model.inputs) {
      result.graph.inputs.push_back(node_of(model.name, input));
      if (result.graph.nodes[static_cast<size_t>(result.graph.inputs.back())].op != "InputLayer")
        refuse(fmt::format("the input '{}' is not an InputLayer", input.layer));
    }
  }
  std::vector<int> nodes;
  for (const TensorName& output : model.outputs) nodes.push_back(node_of(model.name, output));
  return nodes;
}

}  // namespace

KerasConfig read_keras_config(const std::string& text, const std::string& keras_version) {
  try {
    const json description = json::parse(text, [](int depth, json::parse_event_t, json&) {
      if (depth > kDepthMax) refuse(fmt::format("lists in lists are too deep (limit {})", kDepthMax));
      return true;
    });
    const auto class_name = description.at("class_name").get<std::string>();
    if (!is_model(class_name))
      refuse(
          fmt::format("a model of class '{}' is not supported (only Functional and Sequential); the file does not hold "
                      "its code: make it functional in Python, keras.Model(x, model(x)), and save that by "
                      "linac_keras.save(model, 'model.keras') (docs/reference/keras.md)",
                      class_name));
    const std::string version = description.value("keras_version", keras_version);
    if (version.starts_with("1."))
      refuse(fmt::format("it was written by Keras {}; save it again with Keras 2", version));
    const auto model = read_model(class_name, description.at("config"), {version.starts_with("2."), 0});
    Assembly assembly;
    assembly.result.graph.name = model->name;
    assembly.result.graph.outputs = assembly.add(*model, nullptr, {});
    infer(assembly.result.graph);
    return std::move(assembly.result);
  } catch (const json::exception& error) {
    refuse(fmt::format("not the description of a Keras model ({}); save it with model.save()", error.what()));
  }
}

std::vector<int> weight_order(const KerasConfig& config) {
  std::vector<int> order;
  for (size_t i = 0; i < config.graph.nodes.size(); ++i)
    if (!config.graph.nodes[i].weights.empty()) order.push_back(static_cast<int>(i));
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return config.places[static_cast<size_t>(a)].numbers < config.places[static_cast<size_t>(b)].numbers;
  });
  return order;
}

}  // namespace linac::keras
