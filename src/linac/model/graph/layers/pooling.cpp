#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/families.h"
#include "linac/model/graph/layers/window.h"

namespace linac::graph {
namespace {

using nlohmann::json;
using enum SettingKind;

template <size_t Axes>
void infer_pooling(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], Axes + 1);
  need_channels_last(node);
  const Window window = pool_window(node, Axes);
  const bool same = pads_same(node);
  node.output = inputs[0];
  for (size_t axis = 0; axis < Axes; ++axis) node.output[axis] = window.positions(axis, inputs[0][axis], same);
}

template <size_t Axes>
void infer_global_pooling(Node& node, const std::vector<Shape>& inputs) {
  need_rank(node, inputs[0], Axes + 1);
  need_channels_last(node);
  node.output = flag(node, "keepdims", false) ? Shape(Axes, 1) : Shape();
  node.output.push_back(inputs[0].back());
}

double flop_of_input(const Node&, const Shape& input) {
  return static_cast<double>(elements(input));
}

}  // namespace

std::vector<LayerKind> pooling_layers() {
  const auto pool = [](const json& size) {
    return std::vector<Setting>{{"pool_size", kKept, size},
                                {"strides", kKept, nullptr},
                                {"padding", kKept, "valid"},
                                {"data_format", kDefaultOnly, "channels_last"}};
  };
  const std::vector<Setting> global{{"data_format", kDefaultOnly, "channels_last"}, {"keepdims", kKept, false}};
  const json one = {2}, two = {2, 2}, three = {2, 2, 2};
  return {
      {"AveragePooling1D", 1, infer_pooling<1>, flop_per_element, pool(one)},
      {"AveragePooling2D", 1, infer_pooling<2>, flop_per_element, pool(two)},
      {"AveragePooling3D", 1, infer_pooling<3>, flop_per_element, pool(three)},
      {"MaxPooling1D", 1, infer_pooling<1>, flop_per_element, pool(one)},
      {"MaxPooling2D", 1, infer_pooling<2>, flop_per_element, pool(two)},
      {"MaxPooling3D", 1, infer_pooling<3>, flop_per_element, pool(three)},
      {"GlobalAveragePooling1D", 1, infer_global_pooling<1>, flop_of_input, global},
      {"GlobalAveragePooling2D", 1, infer_global_pooling<2>, flop_of_input, global},
      {"GlobalAveragePooling3D", 1, infer_global_pooling<3>, flop_of_input, global},
      {"GlobalMaxPooling1D", 1, infer_global_pooling<1>, flop_of_input, global},
      {"GlobalMaxPooling2D", 1, infer_global_pooling<2>, flop_of_input, global},
      {"GlobalMaxPooling3D", 1, infer_global_pooling<3>, flop_of_input, global},
  };
}

}  // namespace linac::graph
