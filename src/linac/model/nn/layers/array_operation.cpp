// Operations of keras.ops on whole arrays (model/graph/layers/array_operation.cpp).
#include "linac/model/graph/layers/array_operation.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

at::Tensor reshaped(const LayerCall& call, const at::Tensor& x) {
  std::vector<int64_t> shape{x.size(0)};
  shape.insert(shape.end(), call.node.output.begin(), call.node.output.end());
  return x.reshape(shape);
}

// Backwards as forwards on what is flipped.
at::Tensor get_item(const LayerCall& call) {
  at::Tensor x = call.x();
  const auto cuts = graph::axis_cuts(call.node, {x.sizes().begin() + 1, x.sizes().end()});
  for (size_t i = 0; i < cuts.size(); ++i) {
    const auto axis = static_cast<int64_t>(i) + 1;
    auto [start, count, step] = cuts[i];
    if (step < 0) x = at::flip(x, {axis}), start = x.size(axis) - 1 - start, step = -step;
    x = at::slice(x, axis, start, start + (count - 1) * step + 1, step);
  }
  return reshaped(call, x);
}

int64_t axis_of(const LayerCall& call, const char* attribute, size_t rank) {
  return static_cast<int64_t>(graph::axis_of(call.node, call.node.attributes.at(attribute), rank)) + 1;
}

at::Tensor stack(const LayerCall& call) {
  return at::stack(call.inputs, axis_of(call, "axis", call.node.output.size()));
}

at::Tensor swap_axes(const LayerCall& call) {
  const size_t rank = call.node.output.size();
  return call.x().transpose(axis_of(call, "axis1", rank), axis_of(call, "axis2", rank));
}

// Indices below zero count from the end.
at::Tensor take_along(const LayerCall& call) {
  const at::Tensor& x = call.x();
  const int64_t axis = axis_of(call, "axis", call.node.output.size()), cells = x.size(axis);
  const at::Tensor given = call.inputs[1].to(at::kLong), places = at::where(given < 0, given + cells, given);
  if (!(places >= 0).logical_and(places < cells).all().item<bool>())
    throw data_error(fmt::format("[model] layer '{}' (take_along_axis): an index from {} to {} of an axis of {}",
                                 call.node.name, given.min().item<int64_t>(), given.max().item<int64_t>(), cells));
  return at::take_along_dim(x, places, axis);
}

at::Tensor one_hot(const LayerCall& call) {
  const at::Tensor classes =
      at::arange(call.node.output.back(), at::TensorOptions(at::kLong).device(call.x().device()));
  return (call.x().to(at::kLong).unsqueeze(-1) == classes).to(at::kFloat);
}

at::Tensor softmax(const LayerCall& call) {
  const auto axis = graph::axes_of(call.node, "axis", call.node.output.size(), -1)[0];
  return at::softmax(call.x(), static_cast<int64_t>(axis) + 1);
}

at::Tensor einsum(const LayerCall& call) {
  std::string equation = call.node.attributes.at("subscripts").get<std::string>();
  std::erase(equation, ' ');
  return at::einsum(equation, call.inputs);
}

}  // namespace

std::vector<NamedLayer> array_operations() {
  return {{"ops.GetItem", get_item},
          {"ops.Reshape", [](const LayerCall& call) { return reshaped(call, call.x()); }},
          {"ops.Stack", stack},
          {"ops.Swapaxes", swap_axes},
          {"ops.Softmax", softmax},
          {"ops.Einsum", einsum},
          {"ops.TakeAlongAxis", take_along},
          {"ops.OneHot", one_hot}};
}

}  // namespace linac::nn
