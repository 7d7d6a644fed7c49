// Convolutions, with TensorFlow's padding. Kernels come in Keras's axes: (cells..., in, out); ONNX wants (out, in,
// cells...).
#include <numeric>

#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/window.h"
#include "linac/model/onnx/layers/families.h"

namespace linac::onnx {
namespace {

using graph::Window;

/// Cells before each axis, then behind each, as "same" and "causal" want them: what is odd goes behind.
Shape pads_of(const graph::Node& node, const Shape& in, const Window& window) {
  const std::string padding = node.attributes.value("padding", "valid");
  const size_t axes = window.size.size();
  Shape pads(2 * axes, 0);
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t same = window.same_padding(axis, in[axis], node.output[axis]);
    if (padding == "causal") pads[axis] = window.reach(axis) - 1;
    if (padding == "same") pads[axis] = same / 2, pads[axes + axis] = same - same / 2;
  }
  return pads;
}

/// The weight of that number as (out, in, cells...), from (cells..., in, out) in `shape`.
std::string kernel_out_first(const LayerCall& call, size_t i, const Shape& shape) {
  const auto rank = static_cast<int64_t>(shape.size());
  Shape axes{rank - 1, rank - 2};
  for (int64_t axis = 0; axis < rank - 2; ++axis) axes.push_back(axis);
  return call.permuted_weight(i, shape, axes, "/out_first");
}

/// (cells..., in, multiplier) -> (cells..., 1, in * multiplier): each channel is a group.
Shape depthwise_shape(const Shape& kernel) {
  Shape shape = kernel;
  shape.back() *= shape[shape.size() - 2];
  shape[shape.size() - 2] = 1;
  return shape;
}

std::vector<Attribute> settings(const Window& window, const Shape& pads, int64_t groups) {
  return {{"kernel_shape", window.size},
          {"strides", window.strides},
          {"dilations", window.dilation},
          {"pads", pads},
          {"group", groups}};
}

/// The convolution of the node's window.
std::string convolve(const LayerCall& call, Emitter::Names inputs, int64_t groups) {
  const Window window = graph::conv_window(call.node, call.node.output.size() - 1);
  return call.emit.op("Conv", std::move(inputs),
                      settings(window, pads_of(call.node, call.inputs[0].shape, window), groups));
}

Value conv(const LayerCall& call) {
  Emitter::Names inputs{call.x(0, Layout::kChannelsFirst), kernel_out_first(call, 0, call.weights[0].shape)};
  if (call.weights.size() > 1) inputs.push_back(call.weight(1));
  const int64_t groups = graph::integer(call.node, "groups", 1);
  return activate(call, call.result(convolve(call, std::move(inputs), groups), Layout::kChannelsFirst));
}

Value depthwise(const LayerCall& call) {
  Emitter::Names inputs{call.x(0, Layout::kChannelsFirst),
                        kernel_out_first(call, 0, depthwise_shape(call.weights[0].shape))};
  if (call.weights.size() > 1) inputs.push_back(call.weight(1));
  const int64_t channels = call.inputs[0].shape.back();
  return activate(call, call.result(convolve(call, std::move(inputs), channels), Layout::kChannelsFirst));
}

Value separable(const LayerCall& call) {
  const std::string between = convolve(
      call, {call.x(0, Layout::kChannelsFirst), kernel_out_first(call, 0, depthwise_shape(call.weights[0].shape))},
      call.inputs[0].shape.back());
  Emitter::Names inputs{between, kernel_out_first(call, 1, call.weights[1].shape)};
  if (call.weights.size() > 2) inputs.push_back(call.weight(2));
  return activate(call, call.result(call.emit.op("Conv", std::move(inputs)), Layout::kChannelsFirst));
}

// The gradient of a convolution towards its data: all cells that a kernel reaches, of which "same" keeps the middle.
Value conv_transpose(const LayerCall& call) {
  const size_t axes = call.node.output.size() - 1;
  const Window window = graph::conv_window(call.node, axes);
  const bool same = graph::pads_same(call.node);
  Shape pads(2 * axes, 0), more(axes, 0);
  for (size_t axis = 0; axis < axes; ++axis) {
    const int64_t reached = (call.inputs[0].shape[axis] - 1) * window.strides[axis] + window.reach(axis),
                  surplus = reached - call.node.output[axis];
    if (surplus < 0) {
      more[axis] = -surplus;
    } else {
      pads[axis] = same ? surplus / 2 : 0;
      pads[axes + axis] = surplus - pads[axis];
    }
  }
  Emitter::Names inputs{call.x(0, Layout::kChannelsFirst), kernel_out_first(call, 0, call.weights[0].shape)};
  if (call.weights.size() > 1) inputs.push_back(call.weight(1));
  auto attributes = settings(window, pads, 1);
  attributes.push_back({"output_padding", more});
  return activate(call, call.result(call.emit.op("ConvTranspose", std::move(inputs), std::move(attributes)),
                                    Layout::kChannelsFirst));
}

}  // namespace

std::vector<NamedLayer> convolution_layers() {
  return {{"Conv1D", conv},
          {"Conv2D", conv},
          {"Conv3D", conv},
          {"Conv1DTranspose", conv_transpose},
          {"Conv2DTranspose", conv_transpose},
          {"Conv3DTranspose", conv_transpose},
          {"DepthwiseConv1D", depthwise},
          {"DepthwiseConv2D", depthwise},
          {"SeparableConv1D", separable},
          {"SeparableConv2D", separable}};
}

}  // namespace linac::onnx
