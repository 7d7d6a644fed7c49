#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <queue>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/python_json.h"
#include "linac/model/graph/calls.h"
#include "linac/model/graph/layers.h"
#include "linac/model/graph/masks.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/keras/config.h"
#include "linac/model/keras/config_layers.h"
#include "linac/model/keras/layers.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;

constexpr int kDepthMax = 200;      // of the text: what walks it calls itself
constexpr int64_t kStepsMax = 256;  // at which a model is called

/// The calls of a model's layers, each by a number, and what each reads.
class Calls {
 public:
  struct Call {
    const FileLayer* layer;
    size_t number;  // among the layer's calls
    const LayerCallArguments& arguments() const { return layer->calls[number]; }
  };

  explicit Calls(const FileModel& model) {
    for (const FileLayer& layer : model.layers) {
      if (!first_.emplace(layer.node.name, calls_.size()).second)
        refuse_config(fmt::format("two layers are called '{}'", layer.node.name));
      for (size_t number = 0; number < layer.calls.size(); ++number) calls_.push_back({&layer, number});
    }
  }

  size_t size() const { return calls_.size(); }
  const Call& operator[](size_t i) const { return calls_[i]; }

  size_t find(const std::string& reader, const TensorName& name) const {
    const auto found = first_.find(name.layer);
    if (found == first_.end())
      refuse_config(fmt::format("layer '{}' reads '{}', which is not there", reader, name.layer));
    if (name.call >= calls_[found->second].layer->calls.size())
      refuse_config(fmt::format("layer '{}' reads call {} of '{}', which is not there", reader, name.call, name.layer));
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
        refuse_config(fmt::format("layer '{}' is part of a cycle or behind one", calls_[i].layer->node.name));
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
  std::vector<int> add(const FileModel& model, const std::vector<int>* inputs, const Surroundings& around);

  KerasConfig result;

 private:
  std::vector<int> place(const Calls::Call& call, const std::vector<int>& inputs, int mask, const Surroundings& around);
  /// A model that is called at each step: Keras cuts the steps out, calls it as often, and joins what it gives.
  std::vector<int> add_at_steps(const FileLayer& layer, const std::vector<int>& inputs, const Surroundings& inside,
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
  const FileLayer& layer = *call.layer;
  const std::string group = around.path + "layers/" + layer.group;
  KerasPlace place = around.place;
  if (place.numbers.empty()) place.layer = layer.node.name;
  place.numbers.push_back(layer.number);
  const bool predicts = around.predicts || call.arguments().predicts;
  if (layer.model != nullptr) {
    for (const auto& [key, value] : call.arguments().switches.items())
      refuse_config(fmt::format("the model '{}' is called with {}, which is not supported", layer.node.name, key));
    if (mask >= 0) {
      refuse_config(fmt::format(
          "the model '{}' is called with a mask, which is not supported; put a Masking layer inside", layer.node.name));
    }
    const std::string prefix = around.prefix + layer.node.name;
    if (layer.each_step) return add_at_steps(layer, inputs, {prefix + "_", group + "/layer/", place, predicts}, prefix);
    return add(*layer.model, &inputs, {prefix + "_", group + "/", place, predicts});
  }
  if (result.graph.nodes.size() >= kLayersMax) refuse_config(fmt::format("more than {} calls of layers", kLayersMax));
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
  if (result.graph.nodes.size() >= kLayersMax) refuse_config(fmt::format("more than {} calls of layers", kLayersMax));
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

std::vector<int> Assembly::add_at_steps(const FileLayer& layer, const std::vector<int>& inputs,
                                        const Surroundings& inside, const std::string& name) {
  const auto need = [&](bool holds, const std::string& why) {
    if (!holds) refuse_config(fmt::format("layer '{}' (TimeDistributed of a model) {}", name, why));
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
    refuse_config(fmt::format("more than {} outputs of layers", kLayersMax));
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

std::vector<int> Assembly::add(const FileModel& model, const std::vector<int>* inputs, const Surroundings& around) {
  if (++models_ > kLayersMax) refuse_config(fmt::format("the model '{}' is called too often", model.name));
  if (inputs != nullptr && inputs->size() != model.inputs.size()) {
    refuse_config(fmt::format("the model '{}' is called with {} inputs and has {}", model.name, inputs->size(),
                              model.inputs.size()));
  }
  for (const FileLayer& layer : model.layers) layers_.insert(around.prefix + layer.node.name);
  const Calls calls(model);
  std::vector<std::vector<int>> outputs(calls.size());  // nodes of each call
  const auto node_of = [&](const std::string& reader, const TensorName& name) {
    const size_t call = calls.find(reader, name);
    const std::vector<int>& nodes = outputs[call];
    const FileLayer& layer = *calls[call].layer;
    if (layer.model == nullptr && layer.node.op != "InputLayer") return part(nodes.at(0), name.output);
    if (name.output >= nodes.size())
      refuse_config(
          fmt::format("'{}' reads output {} of '{}', which has {}", reader, name.output, name.layer, nodes.size()));
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
        refuse_config(fmt::format("the input '{}' is not an InputLayer", input.layer));
    }
  }
  std::vector<int> nodes;
  for (const TensorName& output : model.outputs) nodes.push_back(node_of(model.name, output));
  return nodes;
}

}  // namespace

KerasConfig read_keras_config(const std::string& text, const std::string& keras_version) {
  try {
    const json description = json::parse(plain_json(text, kAnyDepth), [](int depth, json::parse_event_t, json&) {
      if (depth > kDepthMax) refuse_config(fmt::format("lists in lists are too deep (limit {})", kDepthMax));
      return true;
    });
    const auto class_name = description.at("class_name").get<std::string>();
    if (!is_model(class_name))
      refuse_config(
          fmt::format("a model of class '{}' is not supported (only Functional and Sequential); the file does not hold "
                      "its code: make it functional in Python, keras.Model(x, model(x)), and save that by "
                      "linac.keras.save(model, 'model.keras') (docs/reference/keras.md)",
                      class_name));
    const std::string version = description.value("keras_version", keras_version);
    if (version.starts_with("1."))
      refuse_config(fmt::format("it was written by Keras {}; save it again with Keras 2", version));
    const auto model = read_model(class_name, description.at("config"), {version.starts_with("2."), 0});
    Assembly assembly;
    assembly.result.graph.name = model->name;
    assembly.result.graph.outputs = assembly.add(*model, nullptr, {});
    infer(assembly.result.graph);
    return std::move(assembly.result);
  } catch (const json::exception& error) {
    refuse_config(fmt::format("not the description of a Keras model ({}); save it with model.save()", error.what()));
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
