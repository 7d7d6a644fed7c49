#include <fmt/format.h>

#include <algorithm>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

template <size_t Axes>
void infer_up_sampling(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], Axes + 1);
  need_channels_last(node);
  const std::string way = text(node, "interpolation", "nearest");
  if (way != "nearest" && !(Axes == 2 && way == "bilinear"))
    refuse(node, fmt::format("interpolation '{}' is not supported", way));
  const auto size = extents(node, "size", Axes, 2);
  node.output = inputs[0];
  for (size_t axis = 0; axis < Axes; ++axis) node.output[axis] *= size[axis];
}

template <size_t Axes, int Sign>
void infer_margins(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], Axes + 1);
  need_channels_last(node);
  const auto cells = margins(node, Sign > 0 ? "padding" : "cropping", Axes);
  node.output = inputs[0];
  for (size_t axis = 0; axis < Axes; ++axis) node.output[axis] += Sign * (cells[axis][0] + cells[axis][1]);
}

void infer_reshape(Node& node, const std::vector<Shape>& inputs) {
  const auto found = node.attributes.find("target_shape");
  if (found == node.attributes.end() || !found->is_array()) refuse(node, "'target_shape' must be a list");
  node.output = found->get<Shape>();
  const auto open = std::find(node.output.begin(), node.output.end(), -1);
  if (open != node.output.end()) {  // the one extent that follows from the others
    *open = 1;
    if (is_bounded(node.output)) *open = elements(inputs[0]) / elements(node.output);
  }
  if (!is_bounded(node.output) || elements(node.output) != elements(inputs[0])) {
    refuse(node, fmt::format("cannot make {} of {}", to_string(node.output), to_string(inputs[0])));
  }
}

void infer_flatten(Node& node, const std::vector<Shape>& inputs) {
  node.output = {elements(inputs[0])};
}

void infer_permute(Node& node, const std::vector<Shape>& inputs) {
  const auto found = node.attributes.find("dims");
  if (found == node.attributes.end() || !found->is_array() || found->size() != inputs[0].size())
    refuse(node, "'dims' must list every axis");
  std::vector<bool> taken(inputs[0].size(), false);
  node.output.clear();
  for (const json& dim : *found) {
    if (!dim.is_number_integer() || dim < 1) refuse(node, "'dims' counts from 1");
    const size_t axis = axis_of(node, dim, inputs[0].size());
    if (taken[axis]) refuse(node, "'dims' must list every axis once");
    taken[axis] = true;
    node.output.push_back(inputs[0][axis]);
  }
}

void infer_repeat(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], 1);
  node.output = {integer(node, "n"), inputs[0][0]};
}

}  // namespace

std::vector<LayerKind> shape_layers() {
  const json last = "channels_last", one = {1, 1};
  const auto margin = [&](const char* key, const json& cells) {
    return std::vector<Setting>{{key, kKept, cells}, {"data_format", kDefaultOnly, last}};
  };
  return {
      {"UpSampling1D", 1, infer_up_sampling<1>, flop_none, {{"size", kKept, 2}}},
      {"UpSampling2D",
       1,
       infer_up_sampling<2>,
       flop_none,
       {{"size", kKept, {2, 2}}, {"data_format", kDefaultOnly, last}, {"interpolation", kKept, "nearest"}}},
      {"UpSampling3D",
       1,
       infer_up_sampling<3>,
       flop_none,
       {{"size", kKept, {2, 2, 2}}, {"data_format", kDefaultOnly, last}}},
      {"ZeroPadding1D", 1, infer_margins<1, 1>, flop_none, margin("padding", 1)},
      {"ZeroPadding2D", 1, infer_margins<2, 1>, flop_none, margin("padding", {1, 1})},
      {"ZeroPadding3D", 1, infer_margins<3, 1>, flop_none, margin("padding", {1, 1, 1})},
      {"Cropping1D", 1, infer_margins<1, -1>, flop_none, {{"cropping", kKept, one}}},
      {"Cropping2D", 1, infer_margins<2, -1>, flop_none, margin("cropping", {0, 0})},
      {"Cropping3D", 1, infer_margins<3, -1>, flop_none, margin("cropping", {1, 1, 1})},
      {"Reshape", 1, infer_reshape, flop_none, {{"target_shape", kKept, nullptr}}},
      {"Flatten", 1, infer_flatten, flop_none, {{"data_format", kDefaultOnly, last}}},
      {"Permute", 1, infer_permute, flop_none, {{"dims", kKept, nullptr}}},
      {"RepeatVector", 1, infer_repeat, flop_none, {{"n", kKept, nullptr}}},
  };
}

}  // namespace linac::graph
