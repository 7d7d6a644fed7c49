#include <fmt/format.h>

#include <algorithm>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

void add_scale_and_center(Node& node, const Shape& shape) {
  if (flag(node, "scale", true))
    node.weights.push_back({"gamma", shape, text(node, "gamma_initializer", "ones"), true});
  if (flag(node, "center", true))
    node.weights.push_back({"beta", shape, text(node, "beta_initializer", "zeros"), true});
}

Shape sizes_of(const Shape& shape, const std::vector<size_t>& axes) {
  Shape sizes;
  for (const size_t axis : axes) sizes.push_back(shape[axis]);
  return sizes;
}

void infer_batch_norm(Node& node, const std::vector<Shape>& inputs) {
  const auto axes = axes_of(node, "axis", inputs[0].size(), -1);
  if (axes.size() != 1) refuse(node, "'axis' must be one axis");
  node.output = inputs[0];
  const Shape channels{inputs[0][axes[0]]};
  add_scale_and_center(node, channels);
  node.weights.push_back({"moving_mean", channels, text(node, "moving_mean_initializer", "zeros"), false});
  node.weights.push_back({"moving_variance", channels, text(node, "moving_variance_initializer", "ones"), false});
}

// Keras 2 wrote a list of one.
void adapt_batch_norm(Node& node, const json&) {
  const json& axis = node.attributes.at("axis");
  if (axis.is_array() && axis.size() == 1) node.attributes["axis"] = json(axis.at(0));
}

void infer_layer_norm(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  add_scale_and_center(node, sizes_of(inputs[0], axes_of(node, "axis", inputs[0].size(), -1)));
}

void infer_rms_norm(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  node.weights.push_back({"scale", sizes_of(inputs[0], axes_of(node, "axis", inputs[0].size(), -1)), "ones", true});
}

void infer_group_norm(Node& node, const std::vector<Shape>& inputs) {
  const auto axes = axes_of(node, "axis", inputs[0].size(), -1);
  if (axes != std::vector<size_t>{inputs[0].size() - 1}) refuse(node, "only the last axis can be grouped");
  const int64_t channels = inputs[0].back();
  const json groups = node.attributes.value("groups", json(32));
  const int64_t count = groups == -1 ? channels : integer(node, "groups", 32);
  if (channels % count != 0) refuse(node, fmt::format("{} groups do not divide {} channels", count, channels));
  node.output = inputs[0];
  add_scale_and_center(node, {channels});
}

void infer_unit_norm(Node& node, const std::vector<Shape>& inputs) {
  axes_of(node, "axis", inputs[0].size(), -1);
  node.output = inputs[0];
}

/// A number, or as many as are normalised.
void check_constant(const Node& node, const std::string& attribute, int64_t count) {
  const json value = node.attributes.value(attribute, json());
  const bool list = value.is_array() && static_cast<int64_t>(value.size()) == count &&
                    std::all_of(value.begin(), value.end(), [](const json& one) { return one.is_number(); });
  if (!value.is_number() && !list) refuse(node, fmt::format("'{}' must be a number or a list of {}", attribute, count));
}

// With constants in the file, or with the statistics of the data it was adapted to.
void infer_normalization(Node& node, const std::vector<Shape>& inputs) {
  node.output = inputs[0];
  const auto axes = axes_of(node, "axis", inputs[0].size(), -1);
  const Shape sizes = sizes_of(inputs[0], axes);
  if (node.attributes.contains("mean")) {
    for (const char* constant : {"mean", "variance"}) check_constant(node, constant, elements(sizes));
    return;
  }
  node.weights.push_back({"mean", sizes, "zeros", false});
  node.weights.push_back({"variance", sizes, "ones", false});
  node.weights.push_back({"count", {}, "zeros", false});
}

}  // namespace

std::vector<LayerKind> normalization_layers() {
  const std::vector<Setting> scale_and_center{{"center", kKept, true},
                                              {"scale", kKept, true},
                                              {"beta_initializer", kInitializer, "zeros"},
                                              {"gamma_initializer", kInitializer, "ones"}};
  const auto with = [&](std::vector<Setting> settings) {
    settings.insert(settings.end(), scale_and_center.begin(), scale_and_center.end());
    return settings;
  };
  return {
      {"BatchNormalization", 1, infer_batch_norm, flop_per_element,
       with({{"axis", kKept, -1},
             {"momentum", kKept, 0.99},
             {"epsilon", kKept, 1e-3},
             {"moving_mean_initializer", kInitializer, "zeros"},
             {"moving_variance_initializer", kInitializer, "ones"},
             {"synchronized", kDefaultOnly, false},
             {"renorm", kDefaultOnly, false},
             {"renorm_momentum", kIgnored, 0.99}}),
       false, adapt_batch_norm},
      {"LayerNormalization", 1, infer_layer_norm, flop_per_element,
       with({{"axis", kKept, -1}, {"epsilon", kKept, 1e-3}, {"rms_scaling", kDefaultOnly, false}})},
      {"RMSNormalization", 1, infer_rms_norm, flop_per_element, {{"axis", kKept, -1}, {"epsilon", kKept, 1e-6}}},
      {"GroupNormalization", 1, infer_group_norm, flop_per_element,
       with({{"groups", kKept, 32}, {"axis", kKept, -1}, {"epsilon", kKept, 1e-3}})},
      {"UnitNormalization", 1, infer_unit_norm, flop_per_element, {{"axis", kKept, -1}}},
      {"Normalization",
       1,
       infer_normalization,
       flop_per_element,
       {{"axis", kKept, -1}, {"invert", kKept, false}, {"mean", kKept, nullptr}, {"variance", kKept, nullptr}}},
  };
}

}  // namespace linac::graph
