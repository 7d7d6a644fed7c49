// Operations of keras.ops on whole arrays (model/graph/layers/array_operation.cpp).
#include "linac/model/graph/layers/array_operation.h"

#include <algorithm>
#include <numeric>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/onnx/layers/families.h"
#include "linac/model/onnx/layers/operands.h"

namespace linac::onnx {
namespace {

Value reshaped(const LayerCall& call, const std::string& x) {
  return call.result(call.emit.reshape(x, behind_batch(call.node.output)), Layout::kChannelsLast, call.inputs[0].type);
}

Value reshape(const LayerCall& call) {
  return reshaped(call, call.emit.in(Layout::kChannelsLast, call.inputs[0]));
}

Value get_item(const LayerCall& call) {
  const Value& x = call.inputs[0];
  const auto cuts = graph::axis_cuts(call.node, x.shape);
  Shape starts, ends, axes, steps;
  for (size_t i = 0; i < cuts.size(); ++i) {
    const auto& [start, count, step] = cuts[i];
    if (start == 0 && step == 1 && count == x.shape[i]) continue;
    const int64_t end = start + count * step;
    starts.push_back(start);
    ends.push_back(end < 0 ? -x.shape[i] - 1 : end);  // before the first cell: otherwise it would count from the end
    axes.push_back(static_cast<int64_t>(i) + 1);
    steps.push_back(step);
  }
  Emitter& emit = call.emit;
  std::string name = emit.in(Layout::kChannelsLast, x);
  if (!axes.empty())
    name = emit.op("Slice", {name, emit.ints(starts), emit.ints(ends), emit.ints(axes), emit.ints(steps)});
  return reshaped(call, name);
}

int64_t axis_of(const LayerCall& call, const char* attribute, size_t rank) {
  return static_cast<int64_t>(graph::axis_of(call.node, call.node.attributes.at(attribute), rank)) + 1;
}

Value stack(const LayerCall& call) {
  const Type type = widest(call.inputs);
  const int64_t axis = axis_of(call, "axis", call.node.output.size());
  Emitter::Names parts;
  for (const Value& input : call.inputs)
    parts.push_back(call.emit.unsqueeze(call.emit.in(Layout::kChannelsLast, call.emit.as(type, input)), {axis}));
  return call.result(call.emit.op("Concat", std::move(parts), {{"axis", axis}}), Layout::kChannelsLast, type);
}

Value swap_axes(const LayerCall& call) {
  const Value& x = call.inputs[0];
  Shape axes;
  for (int64_t axis = 0; axis < x.rank(); ++axis) axes.push_back(axis);
  std::swap(axes[static_cast<size_t>(axis_of(call, "axis1", x.shape.size()))],
            axes[static_cast<size_t>(axis_of(call, "axis2", x.shape.size()))]);
  return call.result(call.emit.transpose(call.emit.in(Layout::kChannelsLast, x), axes), Layout::kChannelsLast, x.type);
}

Value take_along(const LayerCall& call) {
  const Value& x = call.inputs[0];
  const size_t axis = static_cast<size_t>(axis_of(call, "axis", call.node.output.size()));
  Shape to{1};  // of one event: Expand goes together with the batch
  to.insert(to.end(), call.node.output.begin(), call.node.output.end());
  Shape from = to;
  from[axis] = x.shape[axis - 1];
  Emitter& emit = call.emit;
  const Value places = emit.as(Type::kInt64, call.inputs[1]);
  return call.result(emit.op("GatherElements",
                             {emit.op("Expand", {emit.in(Layout::kChannelsLast, x), emit.ints(from)}),
                              emit.op("Expand", {emit.in(Layout::kChannelsLast, places), emit.ints(to)})},
                             {{"axis", static_cast<int64_t>(axis)}}),
                     Layout::kChannelsLast, x.type);
}

Value one_hot(const LayerCall& call) {
  Emitter& emit = call.emit;
  Shape classes(static_cast<size_t>(call.node.output.back()));
  std::iota(classes.begin(), classes.end(), int64_t{0});
  const std::string index = emit.in(Layout::kChannelsLast, emit.as(Type::kInt64, call.inputs[0]));
  const std::string is = emit.op("Equal", {emit.unsqueeze(index, {call.inputs[0].rank()}), emit.ints(classes)});
  return call.result(emit.cast(is, Type::kBool, Type::kFloat));
}

Value softmax(const LayerCall& call) {
  const int64_t axis = axes_with_batch(call.node, call.node.output.size())[0];
  return call.result(call.emit.op("Softmax", {call.x()}, {{"axis", axis}}));
}

Value einsum(const LayerCall& call) {
  auto equation = call.node.attributes.at("subscripts").get<std::string>();
  std::erase(equation, ' ');
  Emitter::Names inputs;
  for (size_t i = 0; i < call.inputs.size(); ++i) inputs.push_back(call.x(i));
  return call.result(call.emit.op("Einsum", std::move(inputs), {{"equation", std::move(equation)}}));
}

}  // namespace

std::vector<NamedLayer> array_operations() {
  return {{"ops.GetItem", get_item},         {"ops.Reshape", reshape}, {"ops.Stack", stack},
          {"ops.Swapaxes", swap_axes},       {"ops.Softmax", softmax}, {"ops.Einsum", einsum},
          {"ops.TakeAlongAxis", take_along}, {"ops.OneHot", one_hot}};
}

}  // namespace linac::onnx
