#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/window.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

Value pool(const LayerCall& call, const std::string& op, std::vector<Attribute> attributes) {
  const Shape& in = call.inputs[0].shape;
  const size_t axes = in.size() - 1;
  const graph::Window window = graph::pool_window(call.node, axes);
  Shape pads(2 * axes, 0);
  for (size_t axis = 0; axis < axes && graph::pads_same(call.node); ++axis) {
    const int64_t all = window.same_padding(axis, in[axis], call.node.output[axis]);
    pads[axis] = all / 2, pads[axes + axis] = all - all / 2;
  }
  attributes.insert(attributes.end(), {{"kernel_shape", window.size}, {"strides", window.strides}, {"pads", pads}});
  return call.result(call.emit.op(op, {call.x(0, Layout::kChannelsFirst)}, std::move(attributes)),
                     Layout::kChannelsFirst);
}

// Cells of the padding do not count.
Value average_pooling(const LayerCall& call) {
  return pool(call, "AveragePool", {{"count_include_pad", int64_t{0}}});
}

Value max_pooling(const LayerCall& call) {
  return pool(call, "MaxPool", {});
}

bool keeps(const LayerCall& call) {
  return graph::flag(call.node, "keepdims", false);
}

/// Over all cells, in the order of axes in which the image is.
Value global(const LayerCall& call, const std::string& op) {
  const Value x = call.emit.as(Type::kFloat, call.inputs[0]);
  Shape axes;
  for (int64_t axis = 1; axis < x.rank() - 1; ++axis) axes.push_back(x.axis(axis));
  return call.result(call.emit.reduce(op, x.name, axes, keeps(call)), keeps(call) ? x.layout : Layout::kChannelsLast);
}

Value global_average(const LayerCall& call) {
  return global(call, "ReduceMean");
}

Value global_max(const LayerCall& call) {
  return global(call, "ReduceMax");
}

// Only the steps that count, where a mask says so.
Value global_average_of_steps(const LayerCall& call) {
  if (!call.mask().defined()) return global_average(call);
  Emitter& emit = call.emit;
  const std::string counts =
      emit.cast(expand_mask(emit, call.mask(), call.inputs[0].rank()), Type::kBool, Type::kFloat);
  const std::string sum = emit.reduce("ReduceSum", emit.op("Mul", {call.x(), counts}), {1}, keeps(call));
  return call.result(emit.op("Div", {sum, emit.reduce("ReduceSum", counts, {1}, keeps(call))}));
}

}  // namespace

std::vector<NamedLayer> pooling_layers() {
  return {{"AveragePooling1D", average_pooling},
          {"AveragePooling2D", average_pooling},
          {"AveragePooling3D", average_pooling},
          {"MaxPooling1D", max_pooling},
          {"MaxPooling2D", max_pooling},
          {"MaxPooling3D", max_pooling},
          {"GlobalAveragePooling1D", global_average_of_steps},
          {"GlobalAveragePooling2D", global_average},
          {"GlobalAveragePooling3D", global_average},
          {"GlobalMaxPooling1D", global_max},
          {"GlobalMaxPooling2D", global_max},
          {"GlobalMaxPooling3D", global_max}};
}

}  // namespace linac::onnx
