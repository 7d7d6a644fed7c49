#include "linac/model/chain/dense.h"

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/kernels/matrix_kernels.h"

namespace linac::chain {
namespace {

constexpr int64_t kColumns = 16;  // what the kernels' columns are a multiple of

}  // namespace

Dense::Dense(int64_t inputs, int64_t outputs, std::span<const float> weights, std::span<const float> bias)
    : inputs_(inputs), outputs_(outputs), stride_((outputs + kColumns - 1) / kColumns * kColumns) {
  LINAC_CHECK(inputs > 0 && outputs > 0 && static_cast<int64_t>(weights.size()) == inputs * outputs &&
              static_cast<int64_t>(bias.size()) == outputs);
  weights_.resize(static_cast<size_t>(inputs * stride_));
  for (int64_t i = 0; i < inputs; ++i)
    std::copy_n(weights.begin() + i * outputs, outputs, weights_.begin() + i * stride_);
  bias_.assign(bias.begin(), bias.end());
  bias_.resize(static_cast<size_t>(stride_));
}

void Dense::apply(const float* in, int64_t in_stride, int64_t rows, Activation activation, float* out,
                  const float* bias) const {
  if (rows == 0) return;
  static const kernels::MatrixKernels& kernels = kernels::matrix_kernels(kernels::best_isa());
  kernels.multiply({.a = in,
                    .a_row = in_stride,
                    .a_segment = 0,
                    .a_step = 1,
                    .b = weights_.data(),
                    .b_row = stride_,
                    .c = out,
                    .c_row = stride_,
                    .rows = rows,
                    .columns = stride_,
                    .segments = 1,
                    .depth = inputs_,
                    .finish = {.bias = bias != nullptr ? bias : bias_.data(),
                               .slope = activation == Activation::kRelu ? 0.0F : 1.0F}});
}

}  // namespace linac::chain
