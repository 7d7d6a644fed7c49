#include "linac/model/nn/batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "linac/model/kernels/batch_norm.h"

namespace linac::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor rows_of(const at::Tensor& x_NCXYZ) {
  return x_NCXYZ.contiguous(at::MemoryFormat::ChannelsLast3d);
}

std::span<const float> floats(const at::Tensor& tensor) {
  return {tensor.const_data_ptr<float>(), static_cast<size_t>(tensor.numel())};
}

at::Tensor to_tensor(const std::vector<double>& values) {
  at::Tensor tensor = at::empty({static_cast<int64_t>(values.size())}, at::kFloat);
  std::copy(values.begin(), values.end(), tensor.mutable_data_ptr<float>());
  return tensor;
}

std::vector<double> inverse_deviation(const BatchMoments& moments, double epsilon) {
  std::vector<double> result;
  for (const double variance : moments.variance) result.push_back(1 / std::sqrt(variance + epsilon));
  return result;
}

class BatchNorm : public torch::autograd::Function<BatchNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_NCXYZ, const at::Tensor& gamma,
                            const at::Tensor& beta, double epsilon, double negative_slope, BatchMoments* moments) {
    const at::Tensor x = rows_of(x_NCXYZ);
    const auto channels = static_cast<size_t>(x.size(1));
    const int64_t rows = x.numel() / x.size(1);
    moments->mean.resize(channels);
    moments->variance.resize(channels);
    kernels::channel_moments(x.const_data_ptr<float>(), rows, moments->mean, moments->variance);
    const std::vector<double> inverse = inverse_deviation(*moments, epsilon);
    std::vector<float> scale(channels);
    for (size_t c = 0; c < channels; ++c) scale[c] = static_cast<float>(floats(gamma)[c] * inverse[c]);
    at::Tensor y = at::empty_like(x);
    kernels::channel_normalize(x.const_data_ptr<float>(), rows, moments->mean, scale, floats(beta),
                               static_cast<float>(negative_slope), y.mutable_data_ptr<float>());
    context->save_for_backward({x, gamma, beta});
    context->saved_data["negative_slope"] = negative_slope;
    context->saved_data["mean"] = moments->mean;
    context->saved_data["inverse_deviation"] = inverse;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &gamma = saved[1], &beta = saved[2];
    const at::Tensor y_gradient = rows_of(gradients[0]);
    const auto mean = context->saved_data["mean"].toDoubleVector(),
               inverse = context->saved_data["inverse_deviation"].toDoubleVector();
    std::vector<double> gamma_gradient(mean.size()), beta_gradient(mean.size());
    at::Tensor x_gradient = at::empty_like(x);
    kernels::batch_norm_backward(
        x.const_data_ptr<float>(), y_gradient.const_data_ptr<float>(), x.numel() / x.size(1), mean, inverse,
        {.gamma = floats(gamma),
         .beta = floats(beta),
         .negative_slope = static_cast<float>(context->saved_data["negative_slope"].toDouble())},
        {gamma_gradient, beta_gradient, x_gradient.mutable_data_ptr<float>()});
    return {x_gradient, to_tensor(gamma_gradient), to_tensor(beta_gradient), at::Tensor(), at::Tensor(), at::Tensor()};
  }
};

std::vector<double> to_doubles(const at::Tensor& values) {
  const at::Tensor host = values.detach().to(at::kCPU, at::kDouble).contiguous();
  return {host.const_data_ptr<double>(), host.const_data_ptr<double>() + host.numel()};
}

at::Tensor batch_norm_on_gpu(const at::Tensor& x_NCXYZ, const BatchNormLayer& layer, BatchMoments& moments) {
  const auto [y, mean, inverse_deviation] = at::native_batch_norm(rows_of(x_NCXYZ), layer.gamma, layer.beta, {}, {},
                                                                  /*training=*/true, /*momentum=*/0, layer.epsilon);
  moments.mean = to_doubles(mean);
  moments.variance = to_doubles(inverse_deviation);
  for (double& value : moments.variance) value = 1 / (value * value) - layer.epsilon;
  if (layer.negative_slope == 1) return y;
  return layer.negative_slope == 0 ? at::relu(y) : at::leaky_relu(y, layer.negative_slope);
}

}  // namespace

at::Tensor batch_norm_training(const at::Tensor& x_NCXYZ, const BatchNormLayer& layer, BatchMoments& moments) {
  if (x_NCXYZ.is_cuda()) return batch_norm_on_gpu(x_NCXYZ, layer, moments);
  const int64_t channels = x_NCXYZ.size(1);
  return BatchNorm::apply(x_NCXYZ, layer.gamma.defined() ? layer.gamma : at::ones({channels}),
                          layer.beta.defined() ? layer.beta : at::zeros({channels}), layer.epsilon,
                          layer.negative_slope, &moments);
}

}  // namespace linac::nn
