// Convolutions by LibTorch, with TensorFlow's padding. Kernels come in Keras's axes: (cells..., in, out).
#include <algorithm>
#include <optional>

#include "linac/model/graph/layers.h"
#include "linac/model/graph/layers/attributes.h"
#include "linac/model/graph/layers/window.h"
#include "linac/model/graph/passes/fuse_pooling.h"
#include "linac/model/kernels/plain_conv.h"
#include "linac/model/nn/autograd.h"
#include "linac/model/nn/cuda_conv.h"
#include "linac/model/nn/layers/families.h"
#include "linac/model/nn/linear.h"
#include "linac/model/nn/max_pool.h"
#include "linac/model/nn/plain_conv.h"
#include "linac/model/nn/upsample_conv.h"

namespace linac::nn {
namespace {

// What multiplies a convolution's negative results: 1, unless its activation is relu or one of another layer was fused
// into it (model/graph/passes/fuse_activations.h, fuse_pooling.h).
double negative_slope(const graph::Node& node) {
  return node.attributes.value("activation", "linear") == "relu" ? 0 : fused_negative_slope(node);
}

// For kernels that apply the slope themselves: the other activations.
at::Tensor activate_rest(const graph::Node& node, const at::Tensor& x) {
  return negative_slope(node) == 1 ? activate(node, x) : x;
}

/// In place, where nothing else holds x and it is no view.
at::Tensor activate_convolution(const graph::Node& node, at::Tensor x) {
  const double slope = negative_slope(node);
  if (slope == 1) return activate(node, x);
  return slope == 0 ? x.relu_() : at::leaky_relu_(x, slope);
}

/// (N, C, cells...) -> (N, cells..., C). Softmax is over the channels; a slope does not mind where they are, and acts
/// in place, so x is no view.
at::Tensor activated_channels_last(const graph::Node& node, const at::Tensor& x_NC) {
  return negative_slope(node) == 1 ? activate(node, channels_last(x_NC))
                                   : channels_last(activate_convolution(node, x_NC));
}

/// The window of a max pooling that was fused into the convolution; empty for none.
std::vector<int64_t> fused_window(const graph::Node& node) {
  return node.attributes.value(graph::kFusedPool, std::vector<int64_t>{});
}

/// The strides of channels last, where LibTorch has a word for them.
at::Tensor dense_channels_last(const at::Tensor& x) {
  if (x.dim() == 5) return x.contiguous(at::MemoryFormat::ChannelsLast3d);
  return x.dim() == 4 ? x.contiguous(at::MemoryFormat::ChannelsLast) : x.contiguous();
}

/// Zeros around the cells, as "same" and "causal" want them: what is odd goes behind. What is the same on both sides of
/// each axis is left to the convolution, in `own`.
at::Tensor padded(const graph::Node& node, const at::Tensor& x_NC, const graph::Window& window,
                  std::vector<int64_t>& own) {
  own.assign(window.size.size(), 0);
  const std::string padding = node.attributes.value("padding", "valid");
  if (padding == "valid") return x_NC;
  std::vector<int64_t> cells;  // of the last axis first
  bool even = true;
  for (size_t axis = window.size.size(); axis-- > 0;) {
    const int64_t in = x_NC.size(static_cast<int64_t>(axis) + 2), out = node.output[axis];
    const int64_t same = window.same_padding(axis, in, out);
    const int64_t before = padding == "causal" ? window.reach(axis) - 1 : same / 2;
    const int64_t behind = padding == "causal" ? 0 : same - before;
    cells.push_back(before);
    cells.push_back(behind);
    own[axis] = before;
    even = even && before == behind;
  }
  if (even) return x_NC;
  own.assign(window.size.size(), 0);
  return at::constant_pad_nd(x_NC, cells);
}

/// (cells..., in, out) -> (out, in, cells...)
at::Tensor kernel_out_first(const at::Tensor& kernel) {
  return kernel.movedim(-1, 0).movedim(-1, 1);
}

/// (N, cells..., C) -> (N, C, cells...)
at::Tensor convolve(const graph::Node& node, const at::Tensor& x, const at::Tensor& kernel_OI, const at::Tensor& bias,
                    int64_t groups) {
  const graph::Window window = graph::conv_window(node, node.output.size() - 1);
  std::vector<int64_t> padding;
  const at::Tensor in = dense_channels_last(padded(node, channels_first(x), window, padding));
  const std::vector<int64_t> none(window.size.size(), 0);
  return at::convolution(in, dense_channels_last(kernel_OI), bias, window.strides, padding, window.dilation,
                         /*transposed=*/false, none, groups);
}

/// With a fused pool the bias waits for the largest cells; else it is the convolution's own.
at::Tensor convolve_and_activate(const LayerCall& call, const at::Tensor& kernel_OI, int64_t groups) {
  const graph::Node& node = call.node;
  const std::vector<int64_t> window = fused_window(node);
  if (window.empty()) return activated_channels_last(node, convolve(node, call.x(), kernel_OI, bias_of(call), groups));
  return max_pool_activated(channels_last(convolve(node, call.x(), kernel_OI, {}, groups)), bias_of(call),
                            negative_slope(node), window);
}

/// Of a layer on plain images, its activation and pooling with it; nothing if linac's own kernels do not know its
/// padding or dilation, or are not wanted. The choice follows from the shapes alone.
std::optional<PlainConv> plain_conv_of(const LayerCall& call) {
  const graph::Node& node = call.node;
  const at::Tensor& x = call.x();
  if (call.kernels != Kernels::kLinac || !x.is_cpu() || x.scalar_type() != at::kFloat || x.dim() != 4) return {};
  const graph::Window window = graph::conv_window(node, 2);
  if (window.dilation != std::vector<int64_t>{1, 1} || node.attributes.value("groups", int64_t{1}) != 1) return {};
  const auto before = [&](size_t axis) {
    const int64_t in = x.size(static_cast<int64_t>(axis) + 1);
    return graph::pads_same(node) ? window.same_padding(axis, in, node.output[axis]) / 2 : 0;
  };
  PlainConv what{.shape = {x.size(1), x.size(2), x.size(3), node.output[0], node.output[1], node.output[2], before(0),
                           before(1), window.size[0], window.size[1], window.strides[0], window.strides[1]},
                 .negative_slope = negative_slope(node),
                 .window = fused_window(node)};
  return what;
}

/// The bias, the activation and a fused pool behind a sum that nothing else holds.
at::Tensor activate_sum(const LayerCall& call, at::Tensor sum, const at::Tensor& bias) {
  const std::vector<int64_t> window = fused_window(call.node);
  if (!window.empty()) return max_pool_activated(sum, bias, negative_slope(call.node), window);
  if (bias.defined()) sum.add_(bias);
  return activate_convolution(call.node, sum);
}

at::Tensor conv(const LayerCall& call) {
  if (const auto plain = plain_conv_of(call); plain && takes_plain_conv(plain->shape))
    return activate_rest(call.node, plain_conv(*plain, call.x(), call.weights[0], bias_of(call)));
  return convolve_and_activate(call, kernel_out_first(call.weights[0]),
                               call.node.attributes.value("groups", int64_t{1}));
}

at::Tensor conv3d(const LayerCall& call) {
  if (call.kernels == Kernels::kLinac && graph::is_dense_conv3d(call.node)) {
    const auto padding = graph::own_padding(call.node);
    const at::Tensor x = channels_first(call.x());
    if (cuda_conv3d_possible(x, call.weights[0], padding)) {
      return activate_rest(
          call.node, channels_last(cuda_conv3d(x, call.weights[0], bias_of(call), padding, negative_slope(call.node))));
    }
  }
  return conv(call);
}

at::Tensor folded_conv3d(const LayerCall& call) {
  const at::Tensor x = channels_first(call.x());
  const graph::Extent3 up = graph::extent3(call.node, "size");
  if (call.kernels == Kernels::kLinac && cuda_upsample_conv3d_possible(x, call.weights[0], up)) {
    return activate_rest(call.node, channels_last(cuda_upsample_conv3d(x, call.weights[0], bias_of(call), up,
                                                                       negative_slope(call.node))));
  }
  const at::Tensor y = upsample_conv3d(x, call.weights[0], bias_of(call), up);
  const double slope = negative_slope(call.node);  // not in place: y is a view
  if (slope == 1) return activate(call.node, channels_last(y));
  return channels_last(slope == 0 ? at::relu(y) : at::leaky_relu(y, slope));
}

// The gradient of a convolution towards its data: all cells that a kernel reaches, of which "same" keeps the middle.
at::Tensor conv_transpose(const LayerCall& call) {
  const graph::Node& node = call.node;
  const size_t axes = node.output.size() - 1;
  const graph::Window window = graph::conv_window(node, axes);
  const std::vector<int64_t> none(axes, 0);
  const at::Tensor kernel = kernel_out_first(call.weights[0]);  // (cells..., out, in) -> (in, out, cells...)
  at::Tensor y = at::convolution(dense_channels_last(channels_first(call.x())), dense_channels_last(kernel), {},
                                 window.strides, none, window.dilation, /*transposed=*/true, none, 1);
  const bool same = graph::pads_same(node);
  for (size_t axis = 0; axis < axes; ++axis) {
    const auto dim = static_cast<int64_t>(axis) + 2;
    const int64_t surplus = y.size(dim) - node.output[axis];
    if (surplus >= 0) {
      y = y.narrow(dim, same ? surplus / 2 : 0, node.output[axis]);
    } else {
      std::vector<int64_t> cells(2 * (axes - axis), 0);
      cells.back() = -surplus;
      y = at::constant_pad_nd(y, cells);
    }
  }
  const at::Tensor bias = bias_of(call), result = channels_last(y);
  return activate(node, bias.defined() ? result + bias : result);
}

/// (cells..., in, multiplier) -> (in * multiplier, 1, cells...): each channel is a group.
at::Tensor depthwise_kernel(const at::Tensor& kernel) {
  return kernel.flatten(-2, -1).movedim(-1, 0).unsqueeze(1);
}

/// What comes of each channel by itself, by whichever kernels take it.
at::Tensor depthwise_alone(const LayerCall& call, const std::optional<PlainConv>& plain) {
  const at::Tensor& kernel = call.weights[0];
  if (plain && kernel.size(-1) == 1) {
    kernels::PlainConvShape each = plain->shape;
    each.out_channels = each.in_channels;
    if (kernels::depthwise_takes(each)) return plain_depthwise(each, call.x(), kernel);
  }
  return channels_last(convolve(call.node, call.x(), depthwise_kernel(kernel), {}, call.x().size(-1)));
}

at::Tensor depthwise(const LayerCall& call) {
  const auto plain = plain_conv_of(call);
  if (!plain) return convolve_and_activate(call, depthwise_kernel(call.weights[0]), call.x().size(-1));
  return activate_sum(call, depthwise_alone(call, plain), bias_of(call));
}

at::Tensor separable(const LayerCall& call) {
  const at::Tensor &kernel = call.weights[0], &pointwise = call.weights[1];
  const at::Tensor bias = call.weights.size() > 2 ? call.weights[2] : at::Tensor();
  const auto plain = plain_conv_of(call);
  if (plain && kernels::separable_takes(plain->shape) && kernel.size(-1) == 1 &&
      !wants_gradient({call.x(), kernel, pointwise, bias}))
    return activate_rest(call.node, plain_separable(*plain, call.x(), kernel, pointwise, bias));
  const at::Tensor between = depthwise_alone(call, plain);
  const at::Tensor matrix = pointwise.reshape({pointwise.size(-2), pointwise.size(-1)});
  if (!fused_window(call.node).empty()) return activate_sum(call, linear(between, matrix, {}, call.kernels), bias);
  const double slope = negative_slope(call.node);
  return activate_rest(call.node, linear(between, matrix, bias, call.kernels, slope));
}

}  // namespace

std::vector<NamedLayer> convolution_layers() {
  return {{"Conv1D", conv},
          {"Conv2D", conv},
          {"Conv3D", conv3d},
          {"UpsampleConv3D", folded_conv3d},
          {"Conv1DTranspose", conv_transpose},
          {"Conv2DTranspose", conv_transpose},
          {"Conv3DTranspose", conv_transpose},
          {"DepthwiseConv1D", depthwise},
          {"DepthwiseConv2D", depthwise},
          {"SeparableConv1D", separable},
          {"SeparableConv2D", separable}};
}

}  // namespace linac::nn
