#include "linac/model/graph/layers/merge.h"

#include <algorithm>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

/// The order of axes that all inputs have, or Keras's.
Layout common_layout(const LayerCall& call) {
  const bool first = std::all_of(call.inputs.begin(), call.inputs.end(),
                                 [](const Value& x) { return x.layout == Layout::kChannelsFirst; });
  const bool masked = std::any_of(call.masks.begin(), call.masks.end(), [](const Value& m) { return m.defined(); });
  return first && !masked ? Layout::kChannelsFirst : Layout::kChannelsLast;
}

// A step that only some inputs have takes the value of those.
Value fold(const LayerCall& call, const char* op) {
  Emitter& emit = call.emit;
  const Layout layout = common_layout(call);
  const int64_t rank = call.inputs[0].rank();
  std::string result = call.x(0, layout);
  Value there = call.masks[0];
  for (size_t i = 1; i < call.inputs.size(); ++i) {
    std::string x = call.x(i, layout);
    const Value& mask = call.masks[i];
    if (mask.defined()) x = emit.op("Where", {expand_mask(emit, mask, rank), x, result});
    if (there.defined()) result = emit.op("Where", {expand_mask(emit, there, rank), result, x});
    there.name = mask.defined() && there.defined() ? emit.op("Or", {mask.name, there.name}) : "";
    result = emit.op(op, {result, x});
  }
  return call.result(result, layout);
}

Value add(const LayerCall& call) {
  return fold(call, "Add");
}
Value multiply(const LayerCall& call) {
  return fold(call, "Mul");
}
Value maximum(const LayerCall& call) {
  return fold(call, "Max");
}
Value minimum(const LayerCall& call) {
  return fold(call, "Min");
}

Value subtract(const LayerCall& call) {
  const Layout layout = common_layout(call);
  return call.result(call.emit.op("Sub", {call.x(0, layout), call.x(1, layout)}), layout);
}

Value average(const LayerCall& call) {
  const Value sum = add(call);
  const std::string count = call.emit.scalar(static_cast<double>(call.inputs.size()));
  return call.result(call.emit.op("Div", {sum.name, count}), sum.layout);
}

Value concatenate(const LayerCall& call) {
  Value result = call.result("", common_layout(call));
  Emitter::Names parts;
  for (size_t i = 0; i < call.inputs.size(); ++i) parts.push_back(call.x(i, result.layout));
  result.name = call.emit.op("Concat", std::move(parts), {{"axis", result.axis(joined_axis(call.node))}});
  return result;
}

/// The contracted axis goes last (or second), the others become one.
std::string matrices(const LayerCall& call, size_t input, int64_t axis, bool last) {
  Emitter& emit = call.emit;
  std::string x = call.x(input);
  if (graph::flag(call.node, "normalize", false)) x = unit(emit, x, {axis});
  Shape order{0};
  for (int64_t i = 1; i < call.inputs[input].rank(); ++i) {
    if (i != axis) order.push_back(i);
  }
  order.insert(last ? order.end() : order.begin() + 1, axis);
  const int64_t inner = call.inputs[input].shape[static_cast<size_t>(axis) - 1];
  return emit.reshape(emit.transpose(x, order), last ? Shape{0, -1, inner} : Shape{0, inner, -1});
}

Value dot(const LayerCall& call) {
  const auto axes = graph::dot_axes(call.node, call.inputs[0].shape.size(), call.inputs[1].shape.size());
  const std::string left = matrices(call, 0, static_cast<int64_t>(axes[0]) + 1, true),
                    right = matrices(call, 1, static_cast<int64_t>(axes[1]) + 1, false);
  return call.result(call.emit.reshape(call.emit.op("MatMul", {left, right}), behind_batch(call.node.output)));
}

}  // namespace

std::vector<NamedLayer> merge_layers() {
  return {{"Add", add},         {"Subtract", subtract}, {"Multiply", multiply},       {"Average", average},
          {"Maximum", maximum}, {"Minimum", minimum},   {"Concatenate", concatenate}, {"Dot", dot}};
}

}  // namespace linac::onnx
