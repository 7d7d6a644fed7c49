#include "linac/model/onnx/layers.h"

#include <fmt/format.h>

#include <map>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {

LayerFunction layer_function(const graph::Node& node) {
  static const std::map<std::string, LayerFunction> table = [] {
    std::map<std::string, LayerFunction> all;
    for (const auto& family : {core_layers(), convolution_layers(), pooling_layers(), shape_layers(), image_layers(),
                               merge_layers(), normalization_layers(), activation_layers(), sequence_layers(),
                               attention_layers(), operation_nodes(), array_operations(), own_layers()})
      all.insert(family.begin(), family.end());
    return all;
  }();
  const auto found = table.find(node.op);
  if (found == table.end()) {
    throw user_error(fmt::format(
        "[onnx] layer '{}' ({}) cannot be written: ONNX has no operators for it; leave out the outputs that need it",
        node.name, node.op));
  }
  return found->second;
}

std::string LayerCall::x(size_t input, Layout layout) const {
  return emit.in(layout, emit.as(Type::kFloat, inputs[input]));
}

std::string LayerCall::permuted_weight(size_t i, const Shape& shape, const Shape& axes, const std::string& how) const {
  Shape permuted;
  for (const int64_t axis : axes) permuted.push_back(shape[static_cast<size_t>(axis)]);
  return emit.weight(weights[i].name + how, permuted, permute(weights[i].values, shape, axes));
}

std::vector<float> permute(std::span<const float> values, const Shape& shape, const Shape& axes) {
  LINAC_CHECK(shape.size() == axes.size() && graph::elements(shape) == static_cast<int64_t>(values.size()));
  Shape strides(shape.size(), 1), place(shape.size(), 0);
  for (size_t i = shape.size(); i-- > 1;) strides[i - 1] = strides[i] * shape[i];
  std::vector<float> result;
  result.reserve(values.size());
  for (size_t count = 0; count < values.size(); ++count) {
    int64_t from = 0;
    for (size_t i = 0; i < axes.size(); ++i) from += place[i] * strides[static_cast<size_t>(axes[i])];
    result.push_back(values[static_cast<size_t>(from)]);
    for (size_t i = axes.size(); i-- > 0;) {  // the next place, the last axis first
      if (++place[i] < shape[static_cast<size_t>(axes[i])]) break;
      place[i] = 0;
    }
  }
  return result;
}

std::string constant(Emitter& emit, const nlohmann::json& value) {
  if (value.is_number()) return emit.scalar(value.get<double>());
  const auto values = value.get<std::vector<float>>();
  return emit.floats({static_cast<int64_t>(values.size())}, values);
}

std::string expand_mask(Emitter& emit, const Value& mask, int64_t rank) {
  Shape axes;
  for (int64_t axis = mask.rank(); axis < rank; ++axis) axes.push_back(axis);
  return emit.unsqueeze(emit.in(Layout::kChannelsLast, mask), axes);
}

int64_t joined_axis(const graph::Node& node) {
  const nlohmann::json axis = node.attributes.value("axis", nlohmann::json(-1));
  return static_cast<int64_t>(graph::axis_of(node, axis, node.output.size())) + 1;
}

Shape axes_with_batch(const graph::Node& node, size_t rank) {
  Shape axes;
  for (const size_t axis : graph::axes_of(node, "axis", rank, -1)) axes.push_back(static_cast<int64_t>(axis) + 1);
  return axes;
}

Shape behind_batch(const Shape& shape) {
  Shape all{0};
  all.insert(all.end(), shape.begin(), shape.end());
  return all;
}

}  // namespace linac::onnx
