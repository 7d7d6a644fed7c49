#include "linac/model/nn/batch_norm.h"

#include <torch/csrc/autograd/custom_function.h>

#include <cmath>

#include "linac/model/kernels/batch_norm.h"
#include "linac/model/nn/part_numbers.h"

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

/// Those of the rows here become those of all parts (Chan, Golub and LeVeque, 1979). How many rows these are.
int64_t join_moments(graph::PartLink& link, int64_t rows, BatchMoments& moments) {
  const size_t channels = moments.mean.size();
  std::vector<double> mine{static_cast<double>(rows)};
  mine.insert(mine.end(), moments.mean.begin(), moments.mean.end());
  mine.insert(mine.end(), moments.variance.begin(), moments.variance.end());
  const auto all = doubles_of_parts(link, mine);
  double count = 0;
  for (const auto& one : all) count += one[0];
  for (size_t c = 0; c < channels; ++c) {
    double mean = 0, variance = 0;
    for (const auto& one : all) mean += one[0] / count * one[1 + c];
    for (const auto& one : all) {
      const double apart = one[1 + c] - mean;
      variance += one[0] / count * (one[1 + channels + c] + apart * apart);
    }
    moments.mean[c] = mean;
    moments.variance[c] = variance;
  }
  return static_cast<int64_t>(count);
}

void join_sums(graph::PartLink& link, std::span<double> gamma, std::span<double> beta) {
  std::vector<double> mine(gamma.begin(), gamma.end());
  mine.insert(mine.end(), beta.begin(), beta.end());
  const auto all = doubles_of_parts(link, mine);
  for (size_t c = 0; c < gamma.size(); ++c) {
    gamma[c] = beta[c] = 0;
    for (const auto& one : all) {
      gamma[c] += one[c];
      beta[c] += one[gamma.size() + c];
    }
  }
}

class BatchNorm : public torch::autograd::Function<BatchNorm> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_NCXYZ, const at::Tensor& gamma,
                            const at::Tensor& beta, double epsilon, double negative_slope, BatchMoments* moments,
                            graph::PartLink* parts) {
    const at::Tensor x = rows_of(x_NCXYZ);
    const auto channels = static_cast<size_t>(x.size(1));
    const int64_t rows = x.numel() / x.size(1);
    moments->mean.resize(channels);
    moments->variance.resize(channels);
    kernels::channel_moments(x.const_data_ptr<float>(), rows, moments->mean, moments->variance);
    const int64_t all_rows = parts != nullptr ? join_moments(*parts, rows, *moments) : rows;
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
    context->saved_data["rows"] = all_rows;
    context->saved_data["parts"] = reinterpret_cast<int64_t>(parts);
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
    std::function<int64_t(std::span<double>, std::span<double>)> join;
    if (auto* const parts = reinterpret_cast<graph::PartLink*>(context->saved_data["parts"].toInt())) {
      join = [parts, rows = context->saved_data["rows"].toInt()](std::span<double> gamma_sums,
                                                                 std::span<double> beta_sums) {
        join_sums(*parts, gamma_sums, beta_sums);
        return rows;
      };
    }
    kernels::batch_norm_backward(
        x.const_data_ptr<float>(), y_gradient.const_data_ptr<float>(), x.numel() / x.size(1), mean, inverse,
        {.gamma = floats(gamma),
         .beta = floats(beta),
         .negative_slope = static_cast<float>(context->saved_data["negative_slope"].toDouble()),
         .join_sums = join},
        {gamma_gradient, beta_gradient, x_gradient.mutable_data_ptr<float>()});
    return {x_gradient,  to_tensor(gamma_gradient), to_tensor(beta_gradient), at::Tensor(), at::Tensor(), at::Tensor(),
            at::Tensor()};
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
                          layer.negative_slope, &moments, layer.parts);
}

}  // namespace linac::nn
