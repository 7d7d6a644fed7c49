#include "linac/nn/direct_conv.h"

#include <torch/csrc/autograd/custom_function.h>

#include <vector>

#include "linac/base/error.h"
#include "linac/kernels/conv3d.h"
#include "linac/kernels/plane_kernels.h"

namespace linac::nn {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

at::Tensor keras_axes(const at::Tensor& image_NCXYZ) {
  return image_NCXYZ.permute({0, 2, 3, 4, 1}).contiguous();
}
at::Tensor library_axes(const at::Tensor& image_NXYZC) {
  return image_NXYZC.permute({0, 4, 1, 2, 3});
}

kernels::Conv3dShape shape_of(const at::Tensor& x_NXYZC, const at::Tensor& kernel,
                              const std::vector<int64_t>& padding) {
  kernels::Conv3dShape shape{};
  for (size_t i = 0; i < 3; ++i) {
    shape.in[i] = x_NXYZC.size(static_cast<int64_t>(i) + 1);
    shape.kernel[i] = kernel.size(static_cast<int64_t>(i));
    shape.before[i] = padding[2 * i];
    shape.behind[i] = padding[2 * i + 1];
  }
  shape.in_channels = kernel.size(3);
  shape.out_channels = kernel.size(4);
  return shape;
}

class DirectConv3d : public torch::autograd::Function<DirectConv3d> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_NCXYZ, const at::Tensor& kernel,
                            const at::Tensor& bias, const std::vector<int64_t>& padding) {
    const at::Tensor x = keras_axes(x_NCXYZ), weights = kernel.contiguous(), biases = bias.contiguous();
    const kernels::Conv3dShape shape = shape_of(x, weights, padding);
    const kernels::Extent3 out = shape.out();
    const at::Tensor y = at::empty({x.size(0), out[0], out[1], out[2], shape.out_channels}, x.options());
    kernels::conv3d_forward(shape, x.size(0), x.const_data_ptr<float>(), weights.const_data_ptr<float>(),
                            biases.const_data_ptr<float>(), y.mutable_data_ptr<float>());
    context->save_for_backward({x_NCXYZ, kernel});
    context->saved_data["padding"] = padding;
    return library_axes(y);
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor gradient = keras_axes(gradients[0]), weights = saved[1].contiguous();
    const std::vector<int64_t> padding = context->saved_data["padding"].toIntVector();
    const at::Tensor x = keras_axes(saved[0]);
    const kernels::Conv3dShape shape = shape_of(x, weights, padding);
    const int64_t events = x.size(0);

    variable_list result(4);  // x, kernel, bias, padding
    if (context->needs_input_grad(0)) {
      const at::Tensor x_gradient = at::empty_like(x);
      kernels::conv3d_backward_data(shape, events, gradient.const_data_ptr<float>(), weights.const_data_ptr<float>(),
                                    x_gradient.mutable_data_ptr<float>());
      result[0] = library_axes(x_gradient);
    }
    const bool bias_wanted = context->needs_input_grad(2);
    if (context->needs_input_grad(1)) {
      result[1] = at::empty_like(weights);
      if (bias_wanted) result[2] = at::empty({shape.out_channels}, x.options());
      kernels::conv3d_backward_weights(shape, events, x.const_data_ptr<float>(), gradient.const_data_ptr<float>(),
                                       result[1].mutable_data_ptr<float>(),
                                       bias_wanted ? result[2].mutable_data_ptr<float>() : nullptr);
    } else if (bias_wanted) {
      result[2] = gradient.sum({0, 1, 2, 3});
    }
    return result;
  }
};

void check(const at::Tensor& x, const at::Tensor& kernel, const at::Tensor& bias) {
  LINAC_CHECK(x.dim() == 5 && kernel.dim() == 5 && x.size(1) == kernel.size(3));
  LINAC_CHECK(x.scalar_type() == at::kFloat && kernel.scalar_type() == at::kFloat);
  LINAC_CHECK(x.device().is_cpu() && kernel.device().is_cpu());
  if (bias.defined()) {
    LINAC_CHECK(bias.dim() == 1 && bias.size(0) == kernel.size(4));
    LINAC_CHECK(bias.scalar_type() == at::kFloat && bias.device().is_cpu());
  }
}

}  // namespace

at::Tensor direct_conv3d(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const at::Tensor& bias,
                         const std::array<std::array<int64_t, 2>, 3>& padding) {
  check(x_NCXYZ, kernel, bias);
  // An undefined tensor cannot be an argument of an autograd function.
  const at::Tensor biases = bias.defined() ? bias : at::zeros({kernel.size(4)}, kernel.options());
  std::vector<int64_t> pads;
  for (const auto& axis : padding) pads.insert(pads.end(), axis.begin(), axis.end());
  return DirectConv3d::apply(x_NCXYZ, kernel, biases, pads);
}

bool direct_conv3d_pays(int64_t events) {
  const int64_t blocks = (events + kernels::kBlockEvents - 1) / kernels::kBlockEvents;
  return events > 0 && 4 * events >= 3 * blocks * kernels::kBlockEvents;
}

}  // namespace linac::nn
