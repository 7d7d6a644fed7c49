#include "linac/nn/plain_conv.h"

#include <ATen/Parallel.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "linac/kernels/max_pool.h"
#include "linac/nn/autograd.h"

namespace linac::nn {
namespace {

using kernels::PlainConvShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr int64_t kTilesOfATask = 64;  // events are taken together up to so many tiles
constexpr int64_t kTilesOfASum = 256;  // a sum of its own for a kernel's gradient pays from here on
constexpr int64_t kMostSums = 8;

/// task(number, first event, events) of `count` even runs of events, perhaps on several threads.
template <class Task>
void in_runs(int64_t events, int64_t count, const Task& task) {
  at::parallel_for(0, count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const int64_t first = i * events / count;
      task(i, first, (i + 1) * events / count - first);
    }
  });
}

int64_t tasks(const PlainConvShape& shape, int64_t events) {
  const int64_t together = std::max<int64_t>(1, kTilesOfATask / shape.tiles());
  return (events + together - 1) / together;
}

at::Tensor transformed(const PlainConvShape& shape, const at::Tensor& kernel, bool transposed) {
  const at::Tensor to = at::empty({shape.kernel_floats()}, at::kFloat);
  kernels::winograd_kernel(shape, kernel.const_data_ptr<float>(), transposed, to.mutable_data_ptr<float>());
  return to;
}

kernels::PoolShape pool_of(const PlainConvShape& shape) {
  return {{1, shape.out_y, shape.out_x}, {1, 2, 2}, shape.out_channels};
}

/// `winners`: null if nobody asks for the gradient, or without pooling.
at::Tensor convolved(const PlainConv& what, const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias,
                     at::Tensor* winners) {
  const PlainConvShape& shape = what.shape;
  const kernels::PoolShape pool = pool_of(shape);
  const int64_t events = x.size(0), side = what.pooled ? 2 : 1;
  const at::Tensor y = at::empty({events, shape.out_y / side, shape.out_x / side, shape.out_channels}, at::kFloat);
  const at::Tensor of_kernel = transformed(shape, kernel, false);
  const float* const from = x.const_data_ptr<float>();
  const float* const biases = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  const int64_t floats = y.numel() / std::max<int64_t>(events, 1);
  float* const to = y.mutable_data_ptr<float>();
  uint16_t* won = nullptr;
  if (winners != nullptr) {
    *winners = at::empty({events, pool.winners()}, at::kShort);
    won = reinterpret_cast<uint16_t*>(winners->mutable_data_ptr<int16_t>());
  }
  in_runs(events, tasks(shape, events), [&](int64_t, int64_t first, int64_t count) {
    kernels::winograd_forward(shape, from + first * shape.in_floats(), count, of_kernel.const_data_ptr<float>(),
                              {.finish = {biases, static_cast<float>(what.negative_slope)},
                               .pooled = what.pooled,
                               .y = to + first * floats,
                               .winners = won == nullptr ? nullptr : won + first * pool.winners()});
  });
  return y;
}

at::Tensor image_gradient(const PlainConvShape& shape, const at::Tensor& y_gradient, const at::Tensor& kernel) {
  PlainConv back{shape.transposed()};
  const at::Tensor x_gradient = at::empty({y_gradient.size(0), shape.in_y, shape.in_x, shape.in_channels}, at::kFloat);
  const at::Tensor of_kernel = transformed(shape, kernel, true);
  const float* const from = y_gradient.const_data_ptr<float>();
  float* const to = x_gradient.mutable_data_ptr<float>();
  const int64_t events = y_gradient.size(0);
  in_runs(events, tasks(back.shape, events), [&](int64_t, int64_t first, int64_t count) {
    kernels::winograd_forward(back.shape, from + first * shape.out_floats(), count, of_kernel.const_data_ptr<float>(),
                              {.y = to + first * shape.in_floats()});
  });
  return x_gradient;
}

/// {kernel, bias}. Sums of some events each, added in their order: how many follows from the shape alone.
variable_list weight_gradients(const PlainConvShape& shape, const at::Tensor& x, const at::Tensor& y_gradient) {
  const int64_t events = x.size(0);
  const int64_t count = std::clamp<int64_t>(events * shape.tiles() / kTilesOfASum, 1, kMostSums);
  const at::Tensor sums = at::zeros({count, shape.kernel_floats()}, at::kFloat);
  const at::Tensor bias = at::zeros({count, shape.out_channels}, at::kDouble);
  const float *const images = x.const_data_ptr<float>(), *const gradients = y_gradient.const_data_ptr<float>();
  float* const to = sums.mutable_data_ptr<float>();
  double* const biases = bias.mutable_data_ptr<double>();
  in_runs(events, count, [&](int64_t i, int64_t first, int64_t some) {
    kernels::winograd_backward_kernel(shape, images + first * shape.in_floats(), gradients + first * shape.out_floats(),
                                      some, to + i * shape.kernel_floats(), biases + i * shape.out_channels);
  });
  for (int64_t i = 1; i < count; ++i) {
    for (int64_t k = 0; k < shape.kernel_floats(); ++k) to[k] += to[i * shape.kernel_floats() + k];
    for (int64_t c = 0; c < shape.out_channels; ++c) biases[c] += biases[i * shape.out_channels + c];
  }
  const at::Tensor kernel = at::empty({3, 3, shape.in_channels, shape.out_channels}, at::kFloat);
  kernels::winograd_kernel_gradient(shape, to, kernel.mutable_data_ptr<float>());
  return {kernel, bias[0].to(at::kFloat)};
}

/// The gradient in front of activation and pooling.
at::Tensor gradient_of_cells(const PlainConv& what, const at::Tensor& y_gradient, const at::Tensor& y,
                             const at::Tensor& winners) {
  if (!what.pooled) {
    if (what.negative_slope == 1) return y_gradient;
    if (what.negative_slope == 0) return at::threshold_backward(y_gradient, y, 0);
    return at::where(y > 0, y_gradient, y_gradient * what.negative_slope);
  }
  const kernels::PoolShape pool = pool_of(what.shape);
  const int64_t events = y.size(0);
  const at::Tensor cells = at::empty({events, what.shape.out_y, what.shape.out_x, what.shape.out_channels}, at::kFloat);
  const float *const from = y_gradient.const_data_ptr<float>(), *const values = y.const_data_ptr<float>();
  const auto* const won = reinterpret_cast<const uint16_t*>(winners.const_data_ptr<int16_t>());
  float* const to = cells.mutable_data_ptr<float>();
  in_runs(events, events, [&](int64_t i, int64_t, int64_t) {
    kernels::max_pool_backward(pool, from + i * pool.out_floats(), values + i * pool.out_floats(),
                               won + i * pool.winners(), static_cast<float>(what.negative_slope),
                               to + i * pool.in_floats(), nullptr);
  });
  return cells;
}

struct PlainConvBackward : public torch::autograd::Node {
  PlainConv what;
  torch::autograd::SavedVariable x, kernel;
  at::Tensor y, winners;  // where activation and pooling want them
  bool has_bias = false;

  variable_list apply(variable_list&& gradients) override {
    const at::NoGradGuard no_gradient;
    const at::Tensor image = x.unpack(), weights = kernel.unpack();
    const at::Tensor y_gradient = gradient_of_cells(what, gradients[0].contiguous(), y, winners);
    variable_list result(has_bias ? 3 : 2);
    if (task_should_compute_output(0)) result[0] = image_gradient(what.shape, y_gradient, weights);
    if (task_should_compute_output(1) || (has_bias && task_should_compute_output(2))) {
      const variable_list both = weight_gradients(what.shape, image, y_gradient);
      result[1] = both[0];
      if (has_bias) result[2] = both[1];
    }
    return result;
  }

  void release_variables() override {
    x.reset_data();
    kernel.reset_data();
    y.reset();
    winners.reset();
  }
};

}  // namespace

at::Tensor plain_conv(const PlainConv& what, const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias) {
  const at::Tensor image = x.contiguous(), weights = kernel.contiguous();
  variable_list inputs{image, weights};
  if (bias.defined()) inputs.push_back(bias);
  const bool differentiable = wants_gradient(inputs);
  at::Tensor y, winners;
  {
    const at::NoGradGuard no_gradient;
    y = convolved(what, image, weights, bias, differentiable && what.pooled ? &winners : nullptr);
  }
  if (!differentiable) return y;
  const auto node = std::make_shared<PlainConvBackward>();
  node->what = what;
  node->x = torch::autograd::SavedVariable(image, false);
  node->kernel = torch::autograd::SavedVariable(weights, false);
  node->has_bias = bias.defined();
  if (what.pooled || what.negative_slope != 1) node->y = y.detach();
  node->winners = winners;
  attach(node, inputs, y);
  return y;
}

}  // namespace linac::nn
