#include <fmt/format.h>

#include <map>
#include <queue>

#include "linac/base/error.h"
#include "linac/graph/keras_config.h"
#include "linac/graph/keras_layers.h"

namespace linac::graph {
namespace {

using nlohmann::json;

constexpr size_t kLayersMax = 100'000;
constexpr int64_t kSizeMax = int64_t{1} << 24;      // one number in a layer's settings
constexpr int64_t kElementsMax = int64_t{1} << 40;  // product of a list of them

// A layer of the file with its inputs still by name.
struct Entry {
  Node node;
  std::vector<std::string> inputs;
  std::string group;
};

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

bool is_tensor(const json& value) {
  return value.is_object() && value.value("class_name", "") == "__keras_tensor__";
}

// ["conv_1", 0, 0]: layer, number of its call, number of the output of that call.
std::string read_reference(const json& reference) {
  if (!reference.is_array() || reference.size() < 3 || !reference.at(0).is_string())
    refuse(fmt::format("{} does not name a tensor", reference.dump()));
  const auto name = reference.at(0).get<std::string>();
  if (reference.at(1) != 0 || reference.at(2) != 0)
    refuse(fmt::format("layer '{}' is used twice or has several outputs, which is not supported", name));
  return name;
}

void collect_tensors(const std::string& layer, const json& argument, std::vector<std::string>& names) {
  if (is_tensor(argument)) {
    names.push_back(read_reference(argument.at("config").at("keras_history")));
  } else if (argument.is_array()) {
    for (const json& item : argument) collect_tensors(layer, item, names);
  } else {
    refuse(fmt::format("layer '{}' is called with {}, which is not supported", layer, argument.dump()));
  }
}

std::vector<std::string> read_inbound_nodes(const std::string& layer, const json& calls) {
  std::vector<std::string> names;
  if (calls.empty()) return names;
  if (!calls.is_array() || calls.size() > 1)
    refuse(fmt::format("layer '{}' is used {} times; sharing a layer is not supported", layer, calls.size()));
  const json& call = calls.at(0);
  if (call.is_array()) {  // Keras 2: [["conv_1", 0, 0, {}], ...]
    for (const json& reference : call) names.push_back(read_reference(reference));
    return names;
  }
  collect_tensors(layer, call.at("args"), names);
  const json settings = call.value("kwargs", json::object());
  for (const auto& [key, value] : settings.items()) {
    if (value.is_null() || (key == "training" && value.is_boolean() && !value.get<bool>())) continue;
    refuse(fmt::format("layer '{}' is called with {} = {}, which is not supported", layer, key, value.dump()));
  }
  return names;
}

// What Keras lists one by one has names in a list, one alone, or (functional models with named inputs) in an object.
std::vector<std::string> read_references(const json& value) {
  if (value.is_array() && !value.empty() && value.at(0).is_string()) return {read_reference(value)};
  std::vector<std::string> names;
  for (const json& item : value) names.push_back(read_reference(item));
  return names;
}

std::vector<Entry> read_entries(const json& layers) {
  if (!layers.is_array() || layers.empty() || layers.size() > kLayersMax)
    refuse(fmt::format("'layers' must be a list of 1 to {} layers", kLayersMax));
  std::vector<Entry> entries;
  std::map<std::string, int> count;
  for (const json& layer : layers) {
    const auto class_name = layer.at("class_name").get<std::string>();
    Entry entry{read_keras_layer(class_name, layer.at("config")), {}, keras_snake_case(class_name)};
    check_sizes(entry.node.name, entry.node.attributes);
    entry.inputs = read_inbound_nodes(entry.node.name, layer.value("inbound_nodes", json::array()));
    const int before = count[entry.group]++;
    if (before > 0) entry.group += fmt::format("_{}", before);
    entries.push_back(std::move(entry));
  }
  return entries;
}

// The nodes in an order in which inputs come first; the file's own order wherever that is one.
KerasConfig sort_entries(const std::vector<Entry>& entries) {
  std::map<std::string, size_t> by_name;
  for (size_t i = 0; i < entries.size(); ++i) {
    if (!by_name.emplace(entries[i].node.name, i).second)
      refuse(fmt::format("two layers are called '{}'", entries[i].node.name));
  }
  std::vector<size_t> missing(entries.size());
  std::vector<std::vector<size_t>> readers(entries.size());
  std::priority_queue<size_t, std::vector<size_t>, std::greater<>> ready;
  for (size_t i = 0; i < entries.size(); ++i) {
    for (const std::string& input : entries[i].inputs) {
      const auto found = by_name.find(input);
      if (found == by_name.end())
        refuse(fmt::format("layer '{}' reads '{}', which is not there", entries[i].node.name, input));
      readers[found->second].push_back(i);
    }
    missing[i] = entries[i].inputs.size();
    if (missing[i] == 0) ready.push(i);
  }

  KerasConfig result;
  std::vector<int> place(entries.size(), -1);
  while (!ready.empty()) {
    const size_t i = ready.top();
    ready.pop();
    place[i] = static_cast<int>(result.graph.nodes.size());
    result.graph.nodes.push_back(entries[i].node);
    for (const std::string& input : entries[i].inputs)
      result.graph.nodes.back().inputs.push_back(place[by_name.at(input)]);
    result.groups.push_back(entries[i].group);
    for (const size_t reader : readers[i]) {
      if (--missing[reader] == 0) ready.push(reader);
    }
  }
  for (size_t i = 0; i < entries.size(); ++i) {
    if (place[i] < 0) refuse(fmt::format("layer '{}' is part of a cycle or behind one", entries[i].node.name));
  }
  return result;
}

// Concatenate counts its axis with the batch; only now is the number of axes known.
void check_axes(const Graph& graph) {
  for (const Node& node : graph.nodes) {
    if (node.op != "Concatenate") continue;
    const json axis = node.attributes.value("axis", json(-1));
    if (axis != -1 && axis != node.output.size())
      refuse(fmt::format("layer '{}' joins axis {}; only the last is supported", node.name, axis.dump()));
  }
}

KerasConfig read_functional(const json& config) {
  const std::vector<Entry> entries = read_entries(config.at("layers"));
  KerasConfig result = sort_entries(entries);
  for (const std::string& name : read_references(config.at("input_layers"))) {
    result.graph.inputs.push_back(result.graph.find(name));
    if (result.graph.nodes[static_cast<size_t>(result.graph.inputs.back())].op != "InputLayer")
      refuse(fmt::format("the input '{}' is not an InputLayer", name));
  }
  for (const std::string& name : read_references(config.at("output_layers"))) {
    result.graph.outputs.push_back(result.graph.find(name));
  }
  return result;
}

KerasConfig read_sequential(const json& config) {
  std::vector<Entry> entries = read_entries(config.at("layers"));
  if (entries[0].node.op != "InputLayer") refuse("the model has no InputLayer; build it before saving");
  for (size_t i = 1; i < entries.size(); ++i) entries[i].inputs = {entries[i - 1].node.name};
  KerasConfig result = sort_entries(entries);
  result.graph.inputs = {0};
  result.graph.outputs = {static_cast<int>(entries.size()) - 1};
  return result;
}

}  // namespace

KerasConfig read_keras_config(const std::string& text) {
  try {
    const json model = json::parse(text);
    const auto class_name = model.at("class_name").get<std::string>();
    const json& config = model.at("config");
    if (class_name != "Functional" && class_name != "Model" && class_name != "Sequential")
      refuse(fmt::format("a model of class '{}' is not supported (only Functional and Sequential)", class_name));
    KerasConfig result = class_name == "Sequential" ? read_sequential(config) : read_functional(config);
    result.graph.name = config.value("name", "model");
    infer_shapes(result.graph);
    check_axes(result.graph);
    return result;
  } catch (const json::exception& error) {
    refuse(fmt::format("not the description of a Keras model ({}); save it with model.save()", error.what()));
  }
}

}  // namespace linac::graph
