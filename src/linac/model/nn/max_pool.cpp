#include "linac/model/nn/max_pool.h"

#include <torch/csrc/autograd/custom_function.h>

#include "linac/model/kernels/max_pool.h"
#include "linac/model/nn/autograd.h"
#include "linac/model/nn/threads.h"

namespace linac::nn {
namespace {

using kernels::PoolShape;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

PoolShape shape_of(const at::Tensor& x, const std::vector<int64_t>& window) {
  PoolShape shape{{1, 1, 1}, {1, 1, 1}, x.size(-1)};
  const size_t axes = window.size();
  for (size_t axis = 0; axis < axes; ++axis) {
    shape.in[3 - axes + axis] = x.size(static_cast<int64_t>(axis) + 1);
    shape.window[3 - axes + axis] = window[axis];
  }
  return shape;
}

/// `winners`: null if nobody asks for the gradient.
at::Tensor pool(const at::Tensor& x, const at::Tensor& bias, double slope, const std::vector<int64_t>& window,
                at::Tensor* winners) {
  const PoolShape shape = shape_of(x, window);
  std::vector<int64_t> sizes = x.sizes().vec();
  for (size_t axis = 0; axis < window.size(); ++axis) sizes[axis + 1] /= window[axis];
  const at::Tensor y = at::empty(sizes, at::kFloat);
  if (winners != nullptr) *winners = at::empty({x.size(0), shape.winners()}, at::kShort);
  const float* const from = x.const_data_ptr<float>();
  const float* const biases = bias.defined() ? bias.const_data_ptr<float>() : nullptr;
  float* const to = y.mutable_data_ptr<float>();
  uint16_t* const won =
      winners != nullptr ? reinterpret_cast<uint16_t*>(winners->mutable_data_ptr<int16_t>()) : nullptr;
  const int64_t floats = shape.out_floats();
  threads()(x.size(0), [&](int64_t i) {
    kernels::max_pool_forward(shape, from + i * shape.in_floats(), biases, static_cast<float>(slope), to + i * floats,
                              won == nullptr ? nullptr : won + i * shape.winners());
  });
  return y;
}

class MaxPool : public torch::autograd::Function<MaxPool> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x, const at::Tensor& bias, double slope,
                            const std::vector<int64_t>& window) {
    at::Tensor winners;
    const at::Tensor y = pool(x, bias, slope, window, &winners);
    context->save_for_backward({y, winners});
    context->saved_data["sizes"] = x.sizes().vec();
    context->saved_data["slope"] = slope;
    context->saved_data["window"] = window;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &y = saved[0], &winners = saved[1], dy = gradients[0].contiguous();
    const at::Tensor dx = at::empty(context->saved_data["sizes"].toIntVector(), at::kFloat);
    const auto slope = static_cast<float>(context->saved_data["slope"].toDouble());
    const PoolShape shape = shape_of(dx, context->saved_data["window"].toIntVector());
    const at::Tensor bias = at::zeros({dx.size(0), shape.channels}, at::kDouble);  // by events: added in their order
    const float *const from = dy.const_data_ptr<float>(), *const values = y.const_data_ptr<float>();
    const auto* const won = reinterpret_cast<const uint16_t*>(winners.const_data_ptr<int16_t>());
    float* const to = dx.mutable_data_ptr<float>();
    double* const sums = bias.mutable_data_ptr<double>();
    const int64_t floats = shape.out_floats();
    threads()(dx.size(0), [&](int64_t i) {
      kernels::max_pool_backward(shape, from + i * floats, values + i * floats, won + i * shape.winners(), slope,
                                 to + i * shape.in_floats(), sums + i * shape.channels);
    });
    for (int64_t i = 1; i < dx.size(0); ++i) {
      for (int64_t c = 0; c < shape.channels; ++c) sums[c] += sums[i * shape.channels + c];
    }
    return {dx, dx.size(0) > 0 ? bias[0].to(at::kFloat) : at::zeros({shape.channels}), at::Tensor(), at::Tensor()};
  }
};

}  // namespace

at::Tensor max_pool_activated(const at::Tensor& x, const at::Tensor& bias, double slope,
                              const std::vector<int64_t>& window) {
  const at::Tensor dense = x.contiguous();
  if (!wants_gradient({dense, bias})) return pool(dense, bias, slope, window, nullptr);
  return MaxPool::apply(dense, bias.defined() ? bias : at::zeros({x.size(-1)}), slope, window);
}

}  // namespace linac::nn
