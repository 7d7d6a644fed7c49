#include "linac/model/graph/layers/attributes.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/model/graph/brief.h"

namespace linac::graph {
namespace {

using nlohmann::json;

bool is_extent(const json& value) {
  return value.is_number_integer() && value >= 1 && value <= kAttributeMax;
}

// Null where the attribute is absent or null itself.
const json& attribute_of(const Node& node, const std::string& attribute) {
  static const json none;
  const auto found = node.attributes.find(attribute);
  return found == node.attributes.end() ? none : *found;
}

}  // namespace

void refuse(const Node& node, const std::string& why) {
  throw user_error(fmt::format("[graph] layer '{}' ({}): {}", node.name, node.op, why));
}

int64_t integer(const Node& node, const std::string& attribute, std::optional<int64_t> otherwise) {
  const json& value = attribute_of(node, attribute);
  if (value.is_null() && otherwise) return *otherwise;
  if (!value.is_number_integer()) refuse(node, fmt::format("'{}' must be an integer", attribute));
  if (!is_extent(value)) refuse(node, fmt::format("'{}' must be in 1 to {}", attribute, kAttributeMax));
  return value.get<int64_t>();
}

double number(const Node& node, const std::string& attribute, double otherwise) {
  const json& value = attribute_of(node, attribute);
  if (value.is_null()) return otherwise;
  if (!value.is_number()) refuse(node, fmt::format("'{}' must be a number", attribute));
  return value.get<double>();
}

bool flag(const Node& node, const std::string& attribute, bool otherwise) {
  const json& value = attribute_of(node, attribute);
  if (value.is_null()) return otherwise;
  if (!value.is_boolean()) refuse(node, fmt::format("'{}' must be true or false", attribute));
  return value.get<bool>();
}

std::string text(const Node& node, const std::string& attribute, const std::string& otherwise) {
  const json& value = attribute_of(node, attribute);
  if (value.is_null()) return otherwise;
  if (!value.is_string()) refuse(node, fmt::format("'{}' must be a name", attribute));
  return value.get<std::string>();
}

std::vector<int64_t> extents(const Node& node, const std::string& attribute, size_t axes,
                             std::optional<int64_t> otherwise) {
  const json& value = attribute_of(node, attribute);
  if (value.is_null() && otherwise) return std::vector<int64_t>(axes, *otherwise);
  if (is_extent(value)) return std::vector<int64_t>(axes, value.get<int64_t>());
  if (value.is_array() && value.size() == axes && std::all_of(value.begin(), value.end(), is_extent))
    return value.get<std::vector<int64_t>>();
  refuse(node, fmt::format("'{}' must be an integer or {} of them, from 1 to {}", attribute, axes, kAttributeMax));
}

std::vector<std::array<int64_t, 2>> margins(const Node& node, const std::string& attribute, size_t axes) {
  const json& value = attribute_of(node, attribute);
  const auto cells = [&](const json& one) {
    if (!one.is_number_integer() || one < 0 || one > kAttributeMax) {
      refuse(node, fmt::format("'{}' must be an integer, {} of them or {} pairs, from 0 to {}", attribute, axes, axes,
                               kAttributeMax));
    }
    return one.get<int64_t>();
  };
  const auto pair = [&](const json& one) {
    const bool both = one.is_array() && one.size() == 2;
    return both ? std::array{cells(one.at(0)), cells(one.at(1))} : std::array{cells(one), cells(one)};
  };
  if (value.is_array() && value.size() == axes && axes > 1) {
    std::vector<std::array<int64_t, 2>> result;
    for (const json& one : value) result.push_back(pair(one));
    return result;
  }
  const bool nested = axes == 1 && value.is_array() && value.size() == 1;
  return std::vector<std::array<int64_t, 2>>(axes, pair(nested ? value.at(0) : value));
}

size_t axis_of(const Node& node, const json& axis, size_t rank) {
  const auto axes = static_cast<int64_t>(rank);
  if (axis.is_number_integer() && axis >= 1 && axis <= axes) return axis.get<size_t>() - 1;
  if (axis.is_number_integer() && axis < 0 && axis >= -axes) return static_cast<size_t>(axis.get<int64_t>() + axes);
  refuse(node,
         fmt::format("axis {} is not one of 1 to {} (0 is the batch), nor of -{} to -1", brief(axis), axes, axes));
}

std::vector<size_t> axes_of(const Node& node, const std::string& attribute, size_t rank, int64_t otherwise) {
  const json& value = attribute_of(node, attribute);
  std::vector<size_t> axes;
  if (value.is_array()) {
    for (const json& axis : value) axes.push_back(axis_of(node, axis, rank));
  } else {
    axes.push_back(axis_of(node, value.is_null() ? json(otherwise) : value, rank));
  }
  std::sort(axes.begin(), axes.end());
  if (axes.empty() || std::adjacent_find(axes.begin(), axes.end()) != axes.end())
    refuse(node, fmt::format("'{}' must name different axes", attribute));
  return axes;
}

void need_rank(const Node& node, const Shape& input, size_t rank) {
  if (input.size() != rank) refuse(node, fmt::format("needs an input of {} axes, got {}", rank, to_string(input)));
}

void need_channels_last(const Node& node) {
  const std::string format = text(node, "data_format", "channels_last");
  if (format != "channels_last")
    refuse(node, fmt::format("data_format '{}' is not supported (only channels_last)", format));
}

bool pads_same(const Node& node) {
  const std::string padding = text(node, "padding", "valid");
  if (padding != "valid" && padding != "same")
    refuse(node, fmt::format("padding '{}' is neither valid nor same", padding));
  return padding == "same";
}

const std::vector<std::string>& activation_names() {
  static const std::vector<std::string> names{"linear",      "relu",         "sigmoid",
                                              "tanh",        "softmax",      "elu",
                                              "selu",        "softplus",     "softsign",
                                              "gelu",        "silu",         "swish",
                                              "mish",        "hard_sigmoid", "hard_silu",
                                              "hard_swish",  "exponential",  "leaky_relu",
                                              "relu6",       "celu",         "hard_tanh",
                                              "log_sigmoid", "log_softmax",  "tanh_shrink",
                                              "soft_shrink", "hard_shrink",  "keras2_hard_sigmoid"};
  return names;
}

void check_activation(const Node& node, const std::string& attribute, const std::string& otherwise) {
  const std::string name = text(node, attribute, otherwise);
  const auto& known = activation_names();
  if (std::find(known.begin(), known.end(), name) == known.end()) {
    const auto near = nearest(name, known);
    refuse(node,
           fmt::format("activation '{}' is not known{}; one of your own is Python code: make it a Lambda layer behind "
                       "this one, of keras.ops, and save the model by linac.keras.save(model, 'model.keras') "
                       "(docs/reference/keras.md)",
                       name, near ? fmt::format("; did you mean {}?", *near) : ""));
  }
}

void add_kernel_and_bias(Node& node, Shape kernel, Shape bias) {
  node.weights.push_back({"kernel", std::move(kernel), text(node, "kernel_initializer", "glorot_uniform"), true});
  if (flag(node, "use_bias", true))
    node.weights.push_back({"bias", std::move(bias), text(node, "bias_initializer", "zeros"), true});
}

}  // namespace linac::graph
