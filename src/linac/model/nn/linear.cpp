#include "linac/model/nn/linear.h"

#include <algorithm>

#include "linac/model/kernels/matrix_kernels.h"
#include "linac/model/kernels/plain_conv.h"
#include "linac/model/nn/autograd.h"
#include "linac/model/nn/threads.h"

namespace linac::nn {
namespace {

using kernels::Finish;
using torch::autograd::variable_list;

constexpr int64_t kRowsOfATask = 96;    // of x
constexpr int64_t kRowsOfASum = 256;    // of x, added up at a time for the weights' gradient
constexpr int64_t kInputsOfATask = 48;  // whose weights' gradients a thread takes

/// task(begin, end) of parts of `count`, each of at most `most`, perhaps on several threads.
template <class Task>
void in_parts(int64_t count, int64_t most, const Task& task) {
  threads()((count + most - 1) / most, [&](int64_t i) { task(i * most, std::min(count, (i + 1) * most)); });
}

/// (rows, depth) (depth, columns), finished; both contiguous.
at::Tensor product(const at::Tensor& a, const at::Tensor& b, const Finish& finish) {
  const int64_t rows = a.size(0), depth = a.size(1), columns = b.size(1);
  const at::Tensor c = at::empty({rows, columns}, at::kFloat);
  const float *const from = a.const_data_ptr<float>(), *const by = b.const_data_ptr<float>();
  float* const to = c.mutable_data_ptr<float>();
  const kernels::MatrixKernels& table = kernels::matrix_kernels(kernels::best_isa());
  in_parts(rows, kRowsOfATask, [&](int64_t begin, int64_t end) {
    table.multiply({.a = from + begin * depth,
                    .a_row = depth,
                    .a_segment = 0,
                    .a_step = 1,
                    .b = by,
                    .b_row = columns,
                    .c = to + begin * columns,
                    .c_row = columns,
                    .rows = end - begin,
                    .columns = columns,
                    .segments = 1,
                    .depth = depth,
                    .finish = finish});
  });
  return c;
}

/// x' y_gradient: (in, out), rows of x added up in their order.
at::Tensor weight_gradient(const at::Tensor& x, const at::Tensor& y_gradient) {
  const int64_t rows = x.size(0), in = x.size(1), out = y_gradient.size(1);
  const at::Tensor gradient = at::zeros({in, out}, at::kFloat);
  const float *const from = x.const_data_ptr<float>(), *const by = y_gradient.const_data_ptr<float>();
  float* const to = gradient.mutable_data_ptr<float>();
  const kernels::MatrixKernels& table = kernels::matrix_kernels(kernels::best_isa());
  in_parts(in, kInputsOfATask, [&](int64_t begin, int64_t end) {
    for (int64_t row = 0; row < rows; row += kRowsOfASum) {
      table.multiply({.a = from + row * in + begin,
                      .a_row = 1,
                      .a_segment = 0,
                      .a_step = in,
                      .b = by + row * out,
                      .b_row = out,
                      .c = to + begin * out,
                      .c_row = out,
                      .rows = end - begin,
                      .columns = out,
                      .segments = 1,
                      .depth = std::min(kRowsOfASum, rows - row),
                      .add = true});
    }
  });
  return gradient;
}

at::Tensor bias_gradient(const at::Tensor& y_gradient) {
  const at::Tensor sums = at::zeros({y_gradient.size(1)}, at::kDouble);
  const float* from = y_gradient.const_data_ptr<float>();
  for (int64_t row = 0; row < y_gradient.size(0); row += kRowsOfASum) {
    kernels::add_channel_sums(from + row * y_gradient.size(1), std::min(kRowsOfASum, y_gradient.size(0) - row),
                              y_gradient.size(1), sums.mutable_data_ptr<double>());
  }
  return sums.to(at::kFloat);
}

struct LinearBackward : public torch::autograd::Node {
  torch::autograd::SavedVariable x, weight;
  at::Tensor y;  // where the activation wants it
  bool has_bias = false;
  double negative_slope = 1;

  variable_list apply(variable_list&& gradients) override {
    const at::NoGradGuard no_gradient;
    const at::Tensor rows = x.unpack(), matrix = weight.unpack();
    at::Tensor y_gradient = gradients[0].contiguous();
    if (negative_slope == 0)
      y_gradient = at::threshold_backward(y_gradient, y, 0);
    else if (negative_slope != 1)
      y_gradient = at::where(y > 0, y_gradient, y_gradient * negative_slope);
    variable_list result(has_bias ? 3 : 2);
    if (task_should_compute_output(0)) {
      result[0] = rows.size(1) % 16 == 0 ? product(y_gradient, matrix.t().contiguous(), {})
                                         : at::matmul(y_gradient, matrix.t());
    }
    if (task_should_compute_output(1)) result[1] = weight_gradient(rows, y_gradient);
    if (has_bias && task_should_compute_output(2)) result[2] = bias_gradient(y_gradient);
    return result;
  }

  void release_variables() override {
    x.reset_data();
    weight.reset_data();
    y.reset();
  }
};

bool own(const at::Tensor& x, const at::Tensor& weight, Kernels kernels) {
  const auto plain = [](const at::Tensor& tensor) { return tensor.is_cpu() && tensor.scalar_type() == at::kFloat; };
  return kernels == Kernels::kLinac && plain(x) && plain(weight) && weight.dim() == 2 && weight.size(1) > 0 &&
         weight.size(1) % 16 == 0;
}

at::Tensor by_libtorch(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, double slope) {
  at::Tensor y = at::matmul(x, weight);
  if (bias.defined()) y.add_(bias);  // nothing else holds the product
  if (slope == 1) return y;
  return slope == 0 ? y.relu_() : at::leaky_relu_(y, slope);
}

}  // namespace

at::Tensor linear(const at::Tensor& x, const at::Tensor& weight, const at::Tensor& bias, Kernels kernels,
                  double negative_slope) {
  if (!own(x, weight, kernels)) return by_libtorch(x, weight, bias, negative_slope);
  std::vector<int64_t> sizes = x.sizes().vec();
  sizes.back() = weight.size(1);
  const at::Tensor rows = x.reshape({-1, weight.size(0)}).contiguous(), matrix = weight.contiguous();
  variable_list inputs{rows, matrix};
  if (bias.defined()) inputs.push_back(bias.contiguous());
  at::Tensor y;
  {
    const at::NoGradGuard no_gradient;
    y = product(rows, matrix,
                {bias.defined() ? inputs[2].const_data_ptr<float>() : nullptr, static_cast<float>(negative_slope)});
  }
  if (wants_gradient(inputs)) {
    const auto node = std::make_shared<LinearBackward>();
    node->x = torch::autograd::SavedVariable(rows, false);
    node->weight = torch::autograd::SavedVariable(matrix, false);
    node->has_bias = bias.defined();
    node->negative_slope = negative_slope;
    if (negative_slope != 1) node->y = y.detach();
    attach(node, inputs, y);
  }
  return y.reshape(sizes);
}

}  // namespace linac::nn
