#include "linac/nn/layers.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "linac/base/error.h"
#include "linac/graph/layers.h"
#include "linac/nn/batch_norm.h"
#include "linac/nn/cuda_conv.h"
#include "linac/nn/shower_heads.h"
#include "linac/nn/upsample_conv.h"

namespace linac::nn {
namespace {

at::Tensor channels_last(const at::Tensor& x) {
  return x.contiguous(at::MemoryFormat::ChannelsLast3d);
}

at::Tensor activate(const graph::Node& node, const at::Tensor& x) {
  const std::string name = node.attributes.value("activation", "linear");
  if (name == "relu") return at::relu(x);
  if (name == "sigmoid") return at::sigmoid(x);
  if (name == "tanh") return at::tanh(x);
  return x;
}

// What multiplies a convolution's negative results: 1, unless its activation is relu or one of another layer was fused
// into it (graph/passes/fuse_activations.h).
double negative_slope(const graph::Node& node) {
  if (node.attributes.value("activation", "linear") == "relu") return 0;
  return node.attributes.value("fused_negative_slope", 1.0);
}

// For kernels that apply the slope themselves: the other activations.
at::Tensor activate_rest(const graph::Node& node, const at::Tensor& x) {
  return negative_slope(node) == 1 ? activate(node, x) : x;
}

at::Tensor activate_convolution(const graph::Node& node, const at::Tensor& x) {
  const double slope = negative_slope(node);
  if (slope == 1) return activate(node, x);
  return slope == 0 ? at::relu(x) : at::leaky_relu(x, slope);
}

at::Tensor bias_of(const LayerCall& call) {
  return call.weights.size() > 1 ? call.weights[1] : at::Tensor();
}

at::Tensor dense(const LayerCall& call) {
  const at::Tensor product = at::matmul(call.inputs[0], call.weights[0]);
  const at::Tensor bias = bias_of(call);
  return activate(call.node, bias.defined() ? product + bias : product);
}

// at pads behind the last axis first: {z before, z after, y ..., x ...}.
std::vector<int64_t> pad_list(const std::array<std::array<int64_t, 2>, 3>& padding) {
  return {padding[2][0], padding[2][1], padding[1][0], padding[1][1], padding[0][0], padding[0][1]};
}

at::Tensor conv3d(const LayerCall& call) {
  const auto padding = graph::own_padding(call.node);
  const at::Tensor& x = call.inputs[0];
  if (call.kernels == Kernels::kLinac && cuda_conv3d_possible(x, call.weights[0], padding)) {
    return activate_rest(call.node, cuda_conv3d(x, call.weights[0], bias_of(call), padding, negative_slope(call.node)));
  }
  const at::Tensor padded = channels_last(at::constant_pad_nd(x, pad_list(padding)));
  // Keras (kx, ky, kz, in, out) -> LibTorch (out, in, kx, ky, kz)
  const at::Tensor kernel = channels_last(call.weights[0].permute({4, 3, 0, 1, 2}));
  return activate_convolution(call.node, at::conv3d(padded, kernel, bias_of(call)));
}

at::Tensor folded_conv3d(const LayerCall& call) {
  const at::Tensor& x = call.inputs[0];
  const graph::Extent3 up = graph::extent3(call.node, "size");
  if (call.kernels == Kernels::kLinac && cuda_upsample_conv3d_possible(x, call.weights[0], up)) {
    return activate_rest(call.node,
                         cuda_upsample_conv3d(x, call.weights[0], bias_of(call), up, negative_slope(call.node)));
  }
  return activate_convolution(call.node, upsample_conv3d(x, call.weights[0], bias_of(call), up));
}

at::Tensor activation(const LayerCall& call) {
  return activate(call.node, call.inputs[0]);
}

at::Tensor leaky_relu(const LayerCall& call) {
  return at::leaky_relu(call.inputs[0], call.node.attributes.value("negative_slope", 0.3));
}

at::Tensor batch_normalization(const LayerCall& call) {
  const at::Tensor& x = call.inputs[0];
  const double epsilon = call.node.attributes.value("epsilon", 1e-3);
  const bool scale = call.node.attributes.value("scale", true), center = call.node.attributes.value("center", true);
  size_t next = 0;
  const at::Tensor gamma = scale ? call.weights[next++] : at::Tensor();
  const at::Tensor beta = center ? call.weights[next++] : at::Tensor();
  const at::Tensor &moving_mean = call.weights[next], &moving_variance = call.weights[next + 1];
  if (call.options.mode == Mode::kInference) {
    return at::batch_norm(x, gamma, beta, moving_mean, moving_variance, false, 0, epsilon, false);
  }
  BatchMoments moments;
  const at::Tensor y = batch_norm_training(x, gamma, beta, epsilon, moments);
  if (!call.statistics.empty()) {
    std::copy(moments.mean.begin(), moments.mean.end(), call.statistics[0].begin());
    std::copy(moments.variance.begin(), moments.variance.end(), call.statistics[1].begin());
  }
  return y;
}

at::Tensor dropout(const LayerCall& call) {
  const at::Tensor& x = call.inputs[0];
  const double rate = call.node.attributes.at("rate").get<double>();
  if (call.options.mode == Mode::kInference || rate == 0) return x;
  // Drawn in Keras's axes, so that the mask of a cell does not depend on the layout in memory.
  std::vector<int64_t> shape{x.size(0)};
  shape.insert(shape.end(), call.node.output.begin(), call.node.output.end());
  at::Tensor mask = at::empty(shape, at::kFloat);
  const std::span<float> values(mask.mutable_data_ptr<float>(), static_cast<size_t>(mask.numel()));
  // Each random word decides two cells, with 16 bits each: the rate is kept to 1e-5. An event begins with a block of
  // its own, so that its numbers follow from its place in the batch and the layer's size.
  const size_t cells = values.size() / static_cast<size_t>(x.size(0)), words = (cells + 7) / 8 * 4;
  std::vector<uint32_t> bits(words);
  const auto threshold = static_cast<uint32_t>(std::lround(rate * 65536));
  const auto kept = static_cast<float>(1 / (1 - rate));
  for (size_t event = 0; event * cells < values.size(); ++event) {
    fill_bits(call.dropout_key, event * words, bits);
    for (size_t i = 0; i < cells; ++i) {
      const uint32_t number = (bits[i / 2] >> (16 * (i % 2))) & 0xFFFF;
      values[event * cells + i] = number < threshold ? 0.0F : kept;
    }
  }
  if (call.options.dropout_masks != nullptr) call.options.dropout_masks->push_back(mask);
  mask = mask.to(x.device());
  return x * (shape.size() == 5 ? mask.permute({0, 4, 1, 2, 3}) : mask);
}

at::Tensor up_sampling(const LayerCall& call) {
  const graph::Extent3 size = graph::extent3(call.node, "size");
  const at::Tensor& x = call.inputs[0];
  return channels_last(at::upsample_nearest3d(x, {x.size(2) * size[0], x.size(3) * size[1], x.size(4) * size[2]}));
}

at::Tensor zero_padding(const LayerCall& call) {
  return channels_last(at::constant_pad_nd(call.inputs[0], pad_list(graph::zero_padding(call.node))));
}

at::Tensor average_pooling(const LayerCall& call) {
  const graph::Extent3 size = graph::extent3(call.node, "pool_size");
  return at::avg_pool3d(call.inputs[0], at::IntArrayRef(size.data(), 3));
}

bool is_image(const at::Tensor& x) {
  return x.dim() == 5;
}
at::Tensor keras_axes(const at::Tensor& x) {
  return is_image(x) ? x.permute({0, 2, 3, 4, 1}) : x;
}

at::Tensor reshape(const LayerCall& call) {
  std::vector<int64_t> shape{call.inputs[0].size(0)};
  shape.insert(shape.end(), call.node.output.begin(), call.node.output.end());
  const at::Tensor y = keras_axes(call.inputs[0]).reshape(shape);
  return is_image(y) ? y.permute({0, 4, 1, 2, 3}) : y;
}

at::Tensor flatten(const LayerCall& call) {
  return keras_axes(call.inputs[0]).reshape({call.inputs[0].size(0), -1});
}

at::Tensor concatenate(const LayerCall& call) {
  return at::cat(call.inputs, 1);
}

// The image without its channel axis and with the power undone, (N, X, Y, Z).
at::Tensor linear_image(const LayerCall& call) {
  return at::pow(call.inputs[0].squeeze(1), 1 / call.node.attributes.at("power").get<double>());
}

at::Tensor angle_head(const LayerCall& call) {
  return shower_angle(linear_image(call));
}
at::Tensor sum_head(const LayerCall& call) {
  return shower_sum(linear_image(call));
}

}  // namespace

LayerFunction layer_function(const std::string& op) {
  static const std::map<std::string, LayerFunction> table{
      {"Dense", dense},
      {"Conv3D", conv3d},
      {"UpsampleConv3D", folded_conv3d},
      {"Activation", activation},
      {"LeakyReLU", leaky_relu},
      {"BatchNormalization", batch_normalization},
      {"Dropout", dropout},
      {"UpSampling3D", up_sampling},
      {"ZeroPadding3D", zero_padding},
      {"AveragePooling3D", average_pooling},
      {"Reshape", reshape},
      {"Flatten", flatten},
      {"Concatenate", concatenate},
      {"ShowerAngle", angle_head},
      {"ShowerSum", sum_head},
  };
  const auto found = table.find(op);
  if (found == table.end())
    throw Error(ErrorCode::kInternal, fmt::format("[nn] layer class '{}' cannot be computed", op));
  return found->second;
}

}  // namespace linac::nn
