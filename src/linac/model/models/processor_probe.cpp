#include "linac/model/models/processor_probe.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>

#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/models/torch_threads.h"

namespace linac::models {
namespace {

// Sizes that fill no vector: what is left over has kernels of its own.
class Probe {
 public:
  at::Tensor normal(at::IntArrayRef shape) {
    at::Tensor values = at::empty(shape, at::kFloat);
    fill_normal({.seed = 1, .stream = Stream::kNoise, .lane = lane_++},
                {values.mutable_data_ptr<float>(), static_cast<size_t>(values.numel())});
    return values;
  }

  void keep(const at::Tensor& result) {
    const at::Tensor values = result.contiguous();
    bits_.append(static_cast<const char*>(values.const_data_ptr()), values.nbytes());
  }

  void convolution(const at::Tensor& x, const at::Tensor& kernel) {
    const std::vector<int64_t> ones(static_cast<size_t>(x.dim()) - 2, 1), none(ones.size(), 0);
    const at::Tensor y = at::convolution(x, kernel, {}, ones, ones, ones, false, none, 1);
    const auto [dx, dkernel, dbias] =
        at::convolution_backward(y, x, kernel, at::OptionalIntArrayRef(std::vector<int64_t>{kernel.size(0)}), ones,
                                 ones, ones, false, none, 1, {true, true, true});
    for (const at::Tensor& result : {y, dx, dkernel, dbias}) keep(result);
  }

  std::string bits() && { return std::move(bits_); }

 private:
  uint32_t lane_ = 0;
  std::string bits_;
};

std::string compute() {
  const at::NoGradGuard no_gradient;
  Probe probe;
  const at::Tensor a = probe.normal({33, 70}), b = probe.normal({70, 41}), many = probe.normal({1003}),
                   above_zero = many.abs() + 0.1, rows = probe.normal({17, 59});
  for (const at::Tensor& result :
       {at::mm(a, b), at::addmm(probe.normal({41}), a.narrow(0, 0, 1), b), at::mm(b.t(), a.t()),
        at::mv(a, b.select(1, 0)), at::bmm(probe.normal({3, 9, 13}), probe.normal({3, 13, 7})), at::exp(many),
        at::tanh(many), at::sigmoid(many), at::gelu(many), at::erf(many), at::sin(many), at::log(above_zero),
        at::pow(above_zero, 0.85), at::rsqrt(above_zero), at::softmax(rows, 1), at::sum(many), at::sum(rows, {0}),
        at::mean(rows, {1}), at::layer_norm(rows, {59})})
    probe.keep(result);
  probe.convolution(probe.normal({3, 16, 11, 9}).contiguous(at::MemoryFormat::ChannelsLast),
                    probe.normal({24, 16, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast));
  probe.convolution(probe.normal({2, 8, 7, 6, 5}).contiguous(at::MemoryFormat::ChannelsLast3d),
                    probe.normal({12, 8, 3, 3, 3}).contiguous(at::MemoryFormat::ChannelsLast3d));
  probe.convolution(probe.normal({3, 8, 21}), probe.normal({10, 8, 3}));
  return std::move(probe).bits();
}

}  // namespace

std::string processor_probe() {
  const int threads = at::get_num_threads();
  use_threads(1);
  std::string bits = compute();
  use_threads(threads);
  return bits;
}

}  // namespace linac::models
