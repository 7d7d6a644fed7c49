#include "linac/model/nn/plain_conv.h"

#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

#include "linac/base/base/aligned.h"
#include "linac/model/kernels/max_pool.h"
#include "linac/model/kernels/winograd_conv.h"
#include "linac/model/nn/autograd.h"
#include "linac/model/nn/threads.h"

namespace linac::nn {
namespace {

using kernels::PlainConvShape;
using torch::autograd::variable_list;

constexpr int64_t kCellsOfATask = 256;  // of the output: events are taken together up to so many
constexpr int64_t kCellsOfASum = 1024;  // a sum of its own for a kernel's gradient pays from here on
constexpr int64_t kMostSums = 8;

/// task(number, first event, events) of `count` even runs of events, perhaps on several threads.
template <class Task>
void in_runs(int64_t events, int64_t count, const Task& task) {
  threads()(count, [&](int64_t i) {
    const int64_t first = i * events / count;
    task(i, first, (i + 1) * events / count - first);
  });
}

int64_t tasks(const PlainConvShape& shape, int64_t events) {
  const int64_t together = std::max<int64_t>(1, kCellsOfATask / (shape.out_y * shape.out_x));
  return (events + together - 1) / together;
}

int64_t sums_of(const PlainConvShape& shape, int64_t events) {
  return std::clamp<int64_t>(events * shape.out_y * shape.out_x / kCellsOfASum, 1, kMostSums);
}

at::Tensor transformed(const PlainConvShape& shape, const at::Tensor& kernel, bool transposed) {
  const at::Tensor to = at::empty({kernels::winograd_floats(shape)}, at::kFloat);
  kernels::winograd_kernel(shape, kernel.const_data_ptr<float>(), transposed, to.mutable_data_ptr<float>());
  return to;
}

kernels::PoolShape pool_of(const PlainConv& what) {
  return {{1, what.shape.out_y, what.shape.out_x}, {1, what.window[0], what.window[1]}, what.shape.out_channels};
}

/// What some events' images are convolved with: `from`, events, what follows, `to`.
using Forward = std::function<void(const float*, int64_t, const kernels::Finish&, float*)>;

/// Where results go and, with pooling, the cells that were the largest (null if nobody asks for the gradient).
struct Results {
  float* y;
  uint16_t* winners;
};

/// An event's cells stay in the cache until they are pooled.
void forward_and_pool(const PlainConv& what, const Forward& forward, const float* x, int64_t events, const float* bias,
                      const Results& to) {
  const kernels::PoolShape pool = pool_of(what);
  thread_local AlignedFloats cells;
  cells.resize(static_cast<size_t>(what.shape.out_floats()));
  for (int64_t i = 0; i < events; ++i) {
    forward(x + i * what.shape.in_floats(), 1, {}, cells.data());
    kernels::max_pool_forward(pool, cells.data(), bias, static_cast<float>(what.negative_slope),
                              to.y + i * pool.out_floats(),
                              to.winners == nullptr ? nullptr : to.winners + i * pool.winners());
  }
}

/// `one` for runs of events: from, events, where to. `winners`: null if nobody asks for the gradient.
template <class Run>
at::Tensor in_runs_of_events(const PlainConv& what, const at::Tensor& x, at::Tensor* winners, const Run& run) {
  const PlainConvShape& shape = what.shape;
  const int64_t events = x.size(0);
  const bool pooled = !what.window.empty();
  const kernels::Extent3 out = pooled ? pool_of(what).out() : kernels::Extent3{1, shape.out_y, shape.out_x};
  const int64_t floats = kernels::cells(out) * shape.out_channels, words = pooled ? pool_of(what).winners() : 0;
  const at::Tensor y = at::empty({events, out[1], out[2], shape.out_channels}, at::kFloat);
  const float* const from = x.const_data_ptr<float>();
  float* const to = y.mutable_data_ptr<float>();
  uint16_t* won = nullptr;
  if (winners != nullptr && pooled) {
    *winners = at::empty({events, words}, at::kShort);
    won = reinterpret_cast<uint16_t*>(winners->mutable_data_ptr<int16_t>());
  }
  in_runs(events, tasks(shape, events), [&](int64_t, int64_t first, int64_t count) {
    run(from + first * shape.in_floats(), count,
        Results{to + first * floats, won == nullptr ? nullptr : won + first * words});
  });
  return y;
}

const float* data_of(const at::Tensor& bias) {
  return bias.defined() ? bias.const_data_ptr<float>() : nullptr;
}

at::Tensor convolved(const PlainConv& what, const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias,
                     at::Tensor* winners) {
  const bool winograd = kernels::winograd_takes(what.shape);
  const at::Tensor packed = winograd ? transformed(what.shape, kernel, false) : kernel;
  const float *const weights = packed.const_data_ptr<float>(), *const biases = data_of(bias);
  const kernels::Finish finish{biases, static_cast<float>(what.negative_slope)};
  const Forward forward = [&](const float* from, int64_t events, const kernels::Finish& follows, float* to) {
    if (winograd)
      kernels::winograd_forward(what.shape, from, events, weights, {.finish = follows, .y = to});
    else
      kernels::rows_forward(what.shape, from, events, weights, follows, to);
  };
  return in_runs_of_events(what, x, winners, [&](const float* from, int64_t events, const Results& to) {
    if (what.window.empty()) return forward(from, events, finish, to.y);
    if (winograd && what.window == std::vector<int64_t>{2, 2}) {
      return kernels::winograd_forward(what.shape, from, events, weights,
                                       {.finish = finish, .pooled = true, .y = to.y, .winners = to.winners});
    }
    forward_and_pool(what, forward, from, events, biases, to);
  });
}

at::Tensor image_gradient(const PlainConvShape& shape, const at::Tensor& y_gradient, const at::Tensor& kernel) {
  const PlainConv back{.shape = kernels::turned_back(shape), .window = {}};
  const at::Tensor packed = transformed(shape, kernel, true);
  return in_runs_of_events(back, y_gradient, nullptr, [&](const float* from, int64_t events, const Results& to) {
    kernels::winograd_forward(back.shape, from, events, packed.const_data_ptr<float>(), {.y = to.y});
  });
}

/// Few channels: by LibTorch, as they are mostly the data's own, whose gradient nobody wants.
at::Tensor image_gradient_of_rows(const PlainConvShape& shape, const at::Tensor& y_gradient, const at::Tensor& x,
                                  const at::Tensor& kernel) {
  const int64_t behind_y = (shape.out_y - 1) * shape.stride_y + shape.kernel_y - shape.before_y - shape.in_y;
  const int64_t behind_x = (shape.out_x - 1) * shape.stride_x + shape.kernel_x - shape.before_x - shape.in_x;
  const std::vector<int64_t> zeros{shape.before_x, behind_x, shape.before_y, behind_y};
  const at::Tensor image = at::constant_pad_nd(x.permute({0, 3, 1, 2}), zeros);
  const at::Tensor gradient = std::get<0>(at::convolution_backward(
      y_gradient.permute({0, 3, 1, 2}), image, kernel.permute({3, 2, 0, 1}), at::OptionalIntArrayRef(),
      {shape.stride_y, shape.stride_x}, {0, 0}, {1, 1}, false, {0, 0}, 1, {true, false, false}));
  std::vector<int64_t> cut(zeros);
  for (int64_t& cells : cut) cells = -cells;
  return at::constant_pad_nd(gradient, cut).permute({0, 2, 3, 1});
}

/// {kernel, bias}. Sums of some events each, added in their order: how many follows from the shape alone.
variable_list weight_gradients(const PlainConvShape& shape, const at::Tensor& x, const at::Tensor& y_gradient) {
  const bool winograd = kernels::winograd_takes(shape);
  const int64_t events = x.size(0), count = sums_of(shape, events);
  const int64_t floats = winograd ? kernels::winograd_floats(shape) : shape.kernel_floats();
  const at::Tensor sums = at::zeros({count, floats}, at::kFloat);
  const at::Tensor bias = at::zeros({count, shape.out_channels}, at::kDouble);
  const float *const images = x.const_data_ptr<float>(), *const gradients = y_gradient.const_data_ptr<float>();
  float* const to = sums.mutable_data_ptr<float>();
  double* const biases = bias.mutable_data_ptr<double>();
  in_runs(events, count, [&](int64_t i, int64_t first, int64_t some) {
    (winograd ? kernels::winograd_backward_kernel : kernels::rows_backward_kernel)(
        shape, images + first * shape.in_floats(), gradients + first * shape.out_floats(), some, to + i * floats,
        biases + i * shape.out_channels, kernels::best_isa());
  });
  for (int64_t i = 1; i < count; ++i) {
    for (int64_t k = 0; k < floats; ++k) to[k] += to[i * floats + k];
    for (int64_t c = 0; c < shape.out_channels; ++c) biases[c] += biases[i * shape.out_channels + c];
  }
  at::Tensor kernel = sums[0];
  if (winograd) {
    kernel = at::empty({shape.kernel_floats()}, at::kFloat);
    kernels::winograd_kernel_gradient(shape, to, kernel.mutable_data_ptr<float>());
  }
  return {kernel.reshape({shape.kernel_y, shape.kernel_x, shape.in_channels, shape.out_channels}),
          bias[0].to(at::kFloat)};
}

/// The gradient in front of activation and pooling.
at::Tensor gradient_of_cells(const PlainConv& what, const at::Tensor& y_gradient, const at::Tensor& y,
                             const at::Tensor& winners) {
  if (what.window.empty()) {
    if (what.negative_slope == 1) return y_gradient;
    if (what.negative_slope == 0) return at::threshold_backward(y_gradient, y, 0);
    return at::where(y > 0, y_gradient, y_gradient * what.negative_slope);
  }
  const kernels::PoolShape pool = pool_of(what);
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
    if (task_should_compute_output(0)) {
      result[0] = kernels::winograd_takes(what.shape) ? image_gradient(what.shape, y_gradient, weights)
                                                      : image_gradient_of_rows(what.shape, y_gradient, image, weights);
    }
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

at::Tensor depthwise(const PlainConvShape& shape, const at::Tensor& x, const at::Tensor& kernel) {
  return in_runs_of_events({.shape = shape, .window = {}}, x, nullptr,
                           [&](const float* from, int64_t events, const Results& to) {
                             kernels::depthwise_forward(shape, from, events, kernel.const_data_ptr<float>(), to.y);
                           });
}

struct DepthwiseBackward : public torch::autograd::Node {
  PlainConvShape shape;
  torch::autograd::SavedVariable x, kernel;

  variable_list apply(variable_list&& gradients) override {
    const at::NoGradGuard no_gradient;
    const at::Tensor image = x.unpack(), weights = kernel.unpack(), y_gradient = gradients[0].contiguous();
    variable_list result(2);
    if (task_should_compute_output(0)) {
      const at::Tensor turned = weights.flip({0, 1}).contiguous();
      result[0] = depthwise(kernels::turned_back(shape), y_gradient, turned);
    }
    if (!task_should_compute_output(1)) return result;
    const int64_t count = sums_of(shape, image.size(0)), floats = 9 * shape.in_channels;
    const at::Tensor sums = at::zeros({count, floats}, at::kFloat);
    in_runs(image.size(0), count, [&](int64_t i, int64_t first, int64_t some) {
      kernels::depthwise_backward_kernel(shape, image.const_data_ptr<float>() + first * shape.in_floats(),
                                         y_gradient.const_data_ptr<float>() + first * shape.out_floats(), some,
                                         sums.mutable_data_ptr<float>() + i * floats);
    });
    for (int64_t i = 1; i < count; ++i) sums[0].add_(sums[i]);
    result[1] = sums[0].reshape(weights.sizes());
    return result;
  }

  void release_variables() override {
    x.reset_data();
    kernel.reset_data();
  }
};

}  // namespace

bool takes_plain_conv(const PlainConvShape& shape) {
  return kernels::winograd_takes(shape) || kernels::rows_take(shape);
}

at::Tensor plain_conv(const PlainConv& what, const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias) {
  const at::Tensor image = x.contiguous(), weights = kernel.contiguous();
  variable_list inputs{image, weights};
  if (bias.defined()) inputs.push_back(bias);
  const bool differentiable = wants_gradient(inputs);
  at::Tensor y, winners;
  {
    const at::NoGradGuard no_gradient;
    y = convolved(what, image, weights, bias, differentiable ? &winners : nullptr);
  }
  if (!differentiable) return y;
  const auto node = std::make_shared<PlainConvBackward>();
  node->what = what;
  node->x = torch::autograd::SavedVariable(image, false);
  node->kernel = torch::autograd::SavedVariable(weights, false);
  node->has_bias = bias.defined();
  if (!what.window.empty() || what.negative_slope != 1) node->y = y.detach();
  node->winners = winners;
  attach(node, inputs, y);
  return y;
}

at::Tensor plain_depthwise(const PlainConvShape& shape, const at::Tensor& x, const at::Tensor& kernel) {
  const at::Tensor image = x.contiguous(), weights = kernel.contiguous();
  at::Tensor y;
  {
    const at::NoGradGuard no_gradient;
    y = depthwise(shape, image, weights);
  }
  if (!wants_gradient({image, weights})) return y;
  const auto node = std::make_shared<DepthwiseBackward>();
  node->shape = shape;
  node->x = torch::autograd::SavedVariable(image, false);
  node->kernel = torch::autograd::SavedVariable(weights, false);
  attach(node, {image, weights}, y);
  return y;
}

at::Tensor plain_separable(const PlainConv& what, const at::Tensor& x, const at::Tensor& depthwise,
                           const at::Tensor& pointwise, const at::Tensor& bias) {
  const at::Tensor image = x.contiguous(), cells = depthwise.contiguous(), points = pointwise.contiguous();
  const float* const biases = data_of(bias);
  const Forward forward = [&](const float* from, int64_t events, const kernels::Finish& follows, float* to) {
    kernels::separable_forward(what.shape, from, events, cells.const_data_ptr<float>(), points.const_data_ptr<float>(),
                               follows, to);
  };
  return in_runs_of_events(what, image, nullptr, [&](const float* from, int64_t events, const Results& to) {
    if (what.window.empty()) return forward(from, events, {biases, static_cast<float>(what.negative_slope)}, to.y);
    forward_and_pool(what, forward, from, events, biases, to);
  });
}

}  // namespace linac::nn
