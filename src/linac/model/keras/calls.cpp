#include "linac/model/keras/calls.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/model/keras/settings.h"

namespace linac::keras {
namespace {

using nlohmann::json;

constexpr size_t kCallsMax = 10'000;

// Keras 3's object, or the list of a layer's name and two numbers that Keras 2 writes among named arguments.
bool is_tensor(const json& value) {
  if (value.is_array())
    return value.size() == 3 && value[0].is_string() && value[1].is_number_unsigned() && value[2].is_number_unsigned();
  return value.is_object() && value.value("class_name", "") == "__keras_tensor__";
}

// ["conv_1", 0, 0]: layer, number of its call, number of the output of that call.
TensorName read_name(const json& reference) {
  if (!reference.is_array() || reference.size() < 3 || !reference.at(0).is_string() ||
      !reference.at(1).is_number_unsigned() || !reference.at(2).is_number_unsigned())
    refuse_config(fmt::format("{} does not name a tensor", brief(reference)));
  return {reference.at(0).get<std::string>(), reference.at(1).get<size_t>(), reference.at(2).get<size_t>()};
}

// Also in a list: the masks of several inputs without one.
bool is_nothing(const json& value) {
  return value.is_null() || (value.is_array() && std::all_of(value.begin(), value.end(), is_nothing));
}

/// True, or 1, which Python takes for the same.
bool is_on(const std::string& layer, const std::string& key, const json& value) {
  if (value.is_boolean()) return value.get<bool>();
  if (value == 0 || value == 1) return value == 1;
  refuse_config(
      fmt::format("layer '{}' is called with {} = {}, which must be true or false", layer, key, brief(value)));
}

TensorName read_tensor(const json& tensor) {
  return read_name(tensor.is_array() ? tensor : tensor.at("config").at("keras_history"));
}

/// A slice or "...", which only an x[...] has.
bool is_key(const json& value) {
  const json name = value.is_object() ? value.value("class_name", json()) : json();
  return name == "__slice__" || name == "__ellipsis__";
}

bool holds_tensor(const json& value) {
  return is_tensor(value) || (value.is_array() && std::any_of(value.begin(), value.end(), holds_tensor));
}

void collect_arguments(const std::string& layer, Callee callee, const json& argument, LayerCallArguments& call) {
  if (is_tensor(argument)) {
    call.tensors.push_back(read_tensor(argument));
    call.arguments.push_back(nullptr);
  } else if (callee == Callee::kOperation && (argument.is_number() || argument.is_boolean() || is_key(argument) ||
                                              (argument.is_array() && !holds_tensor(argument)))) {
    call.arguments.push_back(argument);
  } else if (argument.is_array()) {
    for (const json& item : argument) collect_arguments(layer, callee, item, call);
  } else if (!argument.is_null()) {
    refuse_config(fmt::format("layer '{}' is called with {}, which is not supported", layer, brief(argument)));
  }
}

/// Of the argument training. In Keras 3 fit() and predict() overrule it; in Keras 2 it holds for both.
void read_training(const std::string& layer, Callee callee, bool keras2, bool training, LayerCallArguments& call) {
  if (!training) call.predicts = keras2;
  if (!training || (callee == Callee::kImageLayer && !keras2)) return;
  refuse_config(
      fmt::format("layer '{}' is called with training = true, which is not supported{}; leave the argument out", layer,
                  keras2 ? " (in Keras 2 it would drop values and take statistics of batches in predictions "
                           "too)"
                         : ""));
}

void read_named_arguments(const std::string& layer, Callee callee, bool keras2, json named, LayerCallArguments& call) {
  // Tensors that may be given by name, in the order in which they would stand without.
  for (const char* name :
       {"inputs", "sequences", "x", "x1", "x2", "query", "value", "key", "initial_state", "attention_mask"}) {
    const auto found = named.find(name);
    if (found == named.end()) continue;
    if (name == std::string_view("attention_mask") && is_tensor(*found)) call.switches[name] = true;
    collect_arguments(layer, callee, *found, call);
    named.erase(found);
  }
  for (const auto& [key, value] : named.items()) {
    if (is_nothing(value) || (callee == Callee::kOperation && value == false)) continue;
    if (key == "training") {
      read_training(layer, callee, keras2, is_on(layer, key, value), call);
    } else if (key == "mask" && is_tensor(value)) {
      call.mask = read_tensor(value);
    } else if (key == "use_causal_mask" || key == "return_attention_scores") {
      if (is_on(layer, key, value)) call.switches[key] = true;
    } else {
      refuse_config(fmt::format("layer '{}' is called with {} = {}, which is not supported", layer, key, brief(value)));
    }
  }
}

LayerCallArguments read_call(const std::string& layer, Callee callee, const json& call) {
  LayerCallArguments result;
  result.arguments = json::array();
  if (call.is_array()) {  // Keras 2: [["conv_1", 0, 0, {}], ...], where all have the same named arguments
    const json references = !call.empty() && call[0].is_string() ? json::array({call}) : call;
    for (const json& reference : references) result.tensors.push_back(read_name(reference));
    if (!references.empty() && references[0].size() > 3)
      read_named_arguments(layer, callee, /*keras2=*/true, references[0].at(3), result);
    return result;
  }
  if (!call.contains("args"))
    refuse_config(fmt::format("layer '{}' is called with inputs by name, which is not supported", layer));
  collect_arguments(layer, callee, call.at("args"), result);
  read_named_arguments(layer, callee, /*keras2=*/false, call.value("kwargs", json::object()), result);
  return result;
}

}  // namespace

void refuse_config(const std::string& why) {
  throw user_error("[keras] config.json: " + why);
}

std::vector<LayerCallArguments> read_calls(const std::string& layer, Callee callee, const json& inbound_nodes) {
  if (!inbound_nodes.is_array() || inbound_nodes.size() > kCallsMax)
    refuse_config(fmt::format("layer '{}': 'inbound_nodes' must be a list of at most {} calls", layer, kCallsMax));
  std::vector<LayerCallArguments> calls;
  for (const json& call : inbound_nodes) calls.push_back(read_call(layer, callee, call));
  if (calls.empty()) calls.emplace_back();  // an input is there without a call
  return calls;
}

std::vector<TensorName> read_tensor_names(const json& value) {
  if (value.is_array() && !value.empty() && value.at(0).is_string()) return {read_name(value)};
  std::vector<TensorName> names;
  for (const json& item : value) {
    const auto more = read_tensor_names(item);
    names.insert(names.end(), more.begin(), more.end());
    if (!item.is_structured()) refuse_config(fmt::format("{} does not name a tensor", brief(item)));
  }
  return names;
}

}  // namespace linac::keras
