#include "linac/model/graph/layers/merge.h"

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/nn/layers/families.h"

namespace linac::nn {
namespace {

using Operation = at::Tensor (*)(const at::Tensor&, const at::Tensor&);

// A step that only some inputs have takes the value of those.
template <class Two>
at::Tensor fold(const LayerCall& call, const Two& operation) {
  at::Tensor result = call.inputs[0], there = call.masks[0];
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    at::Tensor x = call.inputs[i];
    const at::Tensor& mask = call.masks[i];
    if (mask.defined()) x = at::where(expand_mask(mask, x), x, result);
    if (there.defined()) result = at::where(expand_mask(there, result), result, x);
    there = mask.defined() && there.defined() ? at::logical_or(mask, there) : at::Tensor();
    result = operation(result, x);
  }
  return result;
}

at::Tensor sum_of(const at::Tensor& a, const at::Tensor& b) {
  return a + b;
}
at::Tensor product_of(const at::Tensor& a, const at::Tensor& b) {
  return a * b;
}

at::Tensor add(const LayerCall& call) {
  return fused_activation(call.node, fold(call, sum_of));
}
at::Tensor subtract(const LayerCall& call) {
  return call.inputs[0] - call.inputs[1];
}
at::Tensor multiply(const LayerCall& call) {
  return fold(call, product_of);
}
at::Tensor average(const LayerCall& call) {
  return fold(call, sum_of) / static_cast<double>(call.inputs.size());
}
at::Tensor maximum(const LayerCall& call) {
  return fold(call, [](const at::Tensor& a, const at::Tensor& b) { return at::maximum(a, b); });
}
at::Tensor minimum(const LayerCall& call) {
  return fold(call, [](const at::Tensor& a, const at::Tensor& b) { return at::minimum(a, b); });
}

at::Tensor concatenate(const LayerCall& call) {
  return at::cat(call.inputs, joined_axis(call));
}

at::Tensor unit(const at::Tensor& x, int64_t axis) {
  return x * at::rsqrt(at::clamp_min(at::sum(x * x, {axis}, true), 1e-12));
}

// The contracted axis goes last in the first and second in the second, the others become one.
at::Tensor dot(const LayerCall& call) {
  const at::Tensor &a = call.inputs[0], &b = call.inputs[1];
  const auto axes = graph::dot_axes(call.node, static_cast<size_t>(a.dim() - 1), static_cast<size_t>(b.dim() - 1));
  const int64_t axis_a = static_cast<int64_t>(axes[0]) + 1, axis_b = static_cast<int64_t>(axes[1]) + 1;
  const bool normalize = call.node.attributes.value("normalize", false);
  const at::Tensor left = (normalize ? unit(a, axis_a) : a).movedim(axis_a, -1),
                   right = (normalize ? unit(b, axis_b) : b).movedim(axis_b, 1);
  const int64_t events = a.size(0), inner = a.size(axis_a);
  const at::Tensor product = at::bmm(left.reshape({events, -1, inner}), right.reshape({events, inner, -1}));
  std::vector<int64_t> shape{events};
  shape.insert(shape.end(), call.node.output.begin(), call.node.output.end());
  return product.reshape(shape);
}

}  // namespace

std::vector<NamedLayer> merge_layers() {
  return {{"Add", add},         {"Subtract", subtract}, {"Multiply", multiply},       {"Average", average},
          {"Maximum", maximum}, {"Minimum", minimum},   {"Concatenate", concatenate}, {"Dot", dot}};
}

}  // namespace linac::nn
