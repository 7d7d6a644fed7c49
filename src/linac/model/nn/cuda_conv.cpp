#include "linac/model/nn/cuda_conv.h"

#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <torch/csrc/autograd/custom_function.h>

#include "linac/model/kernels/cuda/conv3d.h"
#include "linac/model/kernels/cuda/upsample_conv.h"

namespace linac::nn {
namespace {

namespace cuda = kernels::cuda;
using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

// As LibTorch's own operations do: the tensor's device for the kernels of this scope, and that device's current stream.
class OnDeviceOf {
 public:
  explicit OnDeviceOf(const at::Tensor& x)
      : guard_(x.device()), stream_(c10::impl::VirtualGuardImpl(at::kCUDA).getStream(x.device())) {}
  void* stream() const { return c10::impl::VirtualGuardImpl(at::kCUDA).getStreamNativeHandle(stream_); }

 private:
  c10::DeviceGuard guard_;
  c10::Stream stream_;
};

at::Tensor dense_image(const at::Tensor& x_NCXYZ) {
  return x_NCXYZ.contiguous(at::MemoryFormat::ChannelsLast3d);
}

at::Tensor empty_image(const at::Tensor& like, int64_t channels, const kernels::Extent3& extent) {
  return at::empty({like.size(0), channels, extent[0], extent[1], extent[2]},
                   like.options().memory_format(at::MemoryFormat::ChannelsLast3d));
}

bool on_gpu(const at::Tensor& x, const at::Tensor& kernel) {
  return x.is_cuda() && kernel.is_cuda() && x.scalar_type() == at::kFloat && kernel.scalar_type() == at::kFloat;
}

kernels::Extent3 image_extent(const at::Tensor& x_NCXYZ) {
  return {x_NCXYZ.size(2), x_NCXYZ.size(3), x_NCXYZ.size(4)};
}

// The plain convolution: what the two autograd functions below differ in.
struct Plain {
  kernels::Conv3dShape shape;

  Plain(const at::Tensor& x, const at::Tensor& kernel, const std::vector<int64_t>& padding)
      : shape{
            image_extent(x), kernel.size(3), {kernel.size(0), kernel.size(1), kernel.size(2)}, kernel.size(4), {}, {}} {
    for (size_t i = 0; i < 3; ++i) shape.before[i] = padding[2 * i], shape.behind[i] = padding[2 * i + 1];
  }
  int64_t backward_workspace(int64_t events) const { return cuda::conv3d_workspace(shape, events); }
  void forward(int64_t events, const float* x, const float* kernel, const float* bias, float slope, float* out,
               const at::TensorOptions&, void* stream) const {
    cuda::conv3d_forward(shape, events, x, kernel, bias, slope, out, stream);
  }
  void backward_data(int64_t events, const float* gradient, const float* kernel, float* in_gradient, float* workspace,
                     void* stream) const {
    cuda::conv3d_backward_data(shape, events, gradient, kernel, in_gradient, workspace, stream);
  }
  void backward_weights(int64_t events, const float* x, const float* gradient, float* kernel_gradient, float* workspace,
                        void* stream) const {
    cuda::conv3d_backward_weights(shape, events, x, gradient, kernel_gradient, workspace, stream);
  }
};

struct Upsampled {
  kernels::UpsampleShape shape;

  Upsampled(const at::Tensor& x, const at::Tensor& kernel, const std::vector<int64_t>& up)
      : shape{image_extent(x),
              kernel.size(3),
              {up[0], up[1], up[2]},
              {kernel.size(0), kernel.size(1), kernel.size(2)},
              kernel.size(4)} {}
  int64_t backward_workspace(int64_t) const { return cuda::upsample_conv3d_workspace(shape); }
  void forward(int64_t events, const float* x, const float* kernel, const float* bias, float slope, float* out,
               const at::TensorOptions& options, void* stream) const {
    at::Tensor workspace = at::empty({cuda::upsample_conv3d_workspace(shape)}, options);
    cuda::upsample_conv3d_forward(shape, events, x, kernel, bias, slope, out, workspace.mutable_data_ptr<float>(),
                                  stream);
  }
  void backward_data(int64_t events, const float* gradient, const float* kernel, float* in_gradient, float* workspace,
                     void* stream) const {
    cuda::upsample_conv3d_backward_data(shape, events, gradient, kernel, in_gradient, workspace, stream);
  }
  void backward_weights(int64_t events, const float* x, const float* gradient, float* kernel_gradient, float* workspace,
                        void* stream) const {
    cuda::upsample_conv3d_backward_weights(shape, events, x, gradient, kernel_gradient, workspace, stream);
  }
};

// `numbers`: the padding, or the factors of the up-sampling.
template <class Operation>
class CudaConv : public torch::autograd::Function<CudaConv<Operation>> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& x_NCXYZ, const at::Tensor& kernel,
                            const at::Tensor& bias, const std::vector<int64_t>& numbers, double slope) {
    const at::Tensor x = dense_image(x_NCXYZ), weights = kernel.contiguous();
    const Operation operation(x, weights, numbers);
    at::Tensor y = empty_image(x, weights.size(4), operation.shape.out());
    const OnDeviceOf here(x);
    operation.forward(x.size(0), x.const_data_ptr<float>(), weights.const_data_ptr<float>(),
                      bias.const_data_ptr<float>(), static_cast<float>(slope), y.mutable_data_ptr<float>(),
                      at::TensorOptions(x.device()).dtype(at::kFloat), here.stream());
    context->save_for_backward({x, weights, slope == 1 ? at::Tensor() : y});
    context->saved_data["numbers"] = numbers;
    context->saved_data["slope"] = slope;
    return y;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const auto saved = context->get_saved_variables();
    const at::Tensor &x = saved[0], &weights = saved[1], &y = saved[2];
    const Operation operation(x, weights, context->saved_data["numbers"].toIntVector());
    // The slope is not negative, so the result's sign is that of the sum before the activation.
    const at::Tensor y_gradient = dense_image(
        y.defined() ? at::leaky_relu_backward(gradients[0], y, context->saved_data["slope"].toDouble(), true)
                    : gradients[0]);
    const OnDeviceOf here(x);
    const int64_t events = x.size(0);
    at::Tensor workspace =
        at::empty({operation.backward_workspace(events)}, at::TensorOptions(x.device()).dtype(at::kFloat));
    at::Tensor x_gradient, kernel_gradient, bias_gradient;
    if (context->needs_input_grad(0)) {
      x_gradient = empty_image(x, x.size(1), image_extent(x));
      operation.backward_data(events, y_gradient.const_data_ptr<float>(), weights.const_data_ptr<float>(),
                              x_gradient.mutable_data_ptr<float>(), workspace.mutable_data_ptr<float>(), here.stream());
    }
    if (context->needs_input_grad(1)) {
      kernel_gradient = at::empty_like(weights);
      operation.backward_weights(events, x.const_data_ptr<float>(), y_gradient.const_data_ptr<float>(),
                                 kernel_gradient.mutable_data_ptr<float>(), workspace.mutable_data_ptr<float>(),
                                 here.stream());
    }
    if (context->needs_input_grad(2)) bias_gradient = y_gradient.sum({0, 2, 3, 4});
    return {x_gradient, kernel_gradient, bias_gradient, at::Tensor(), at::Tensor()};
  }
};

// An autograd function takes no undefined tensors.
at::Tensor defined_bias(const at::Tensor& bias, const at::Tensor& kernel) {
  return bias.defined() ? bias : at::zeros({kernel.size(4)}, kernel.options().requires_grad(false));
}

std::vector<int64_t> flat(const Padding3& padding) {
  return {padding[0][0], padding[0][1], padding[1][0], padding[1][1], padding[2][0], padding[2][1]};
}

}  // namespace

bool cuda_conv3d_possible(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const Padding3& padding) {
  return on_gpu(x_NCXYZ, kernel) && cuda::conv3d_possible(Plain(x_NCXYZ, kernel, flat(padding)).shape);
}

at::Tensor cuda_conv3d(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const at::Tensor& bias,
                       const Padding3& padding, double slope) {
  return CudaConv<Plain>::apply(x_NCXYZ, kernel, defined_bias(bias, kernel), flat(padding), slope);
}

bool cuda_upsample_conv3d_possible(const at::Tensor& x_NCXYZ, const at::Tensor& kernel,
                                   const std::array<int64_t, 3>& up) {
  return on_gpu(x_NCXYZ, kernel) &&
         cuda::upsample_conv3d_possible(Upsampled(x_NCXYZ, kernel, {up.begin(), up.end()}).shape);
}

at::Tensor cuda_upsample_conv3d(const at::Tensor& x_NCXYZ, const at::Tensor& kernel, const at::Tensor& bias,
                                const std::array<int64_t, 3>& up, double slope) {
  return CudaConv<Upsampled>::apply(x_NCXYZ, kernel, defined_bias(bias, kernel),
                                    std::vector<int64_t>(up.begin(), up.end()), slope);
}

}  // namespace linac::nn
