#pragma once
// A dense layer on plain floats, by the kernels' product of matrices: the same bits with AVX2, AVX-512 and NEON.
// Immutable, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

namespace linac::chain {

enum class Activation { kNone, kRelu };

class Dense {
 public:
  Dense() = default;
  /// `weights` [inputs][outputs]; `bias` [outputs].
  Dense(int64_t inputs, int64_t outputs, std::span<const float> weights, std::span<const float> bias);

  int64_t inputs() const { return inputs_; }
  int64_t outputs() const { return outputs_; }
  /// Floats from row to row of a result: outputs, rounded up to what the kernels want. What lies beyond is 0.
  int64_t stride() const { return stride_; }

  /// out [rows][stride()] = activation(in [rows][in_stride] * weights + bias); `bias`: another one than the layer's, of
  /// stride() floats, or null.
  void apply(const float* in, int64_t in_stride, int64_t rows, Activation activation, float* out,
             const float* bias = nullptr) const;

  std::span<const float> weights_of(int64_t input) const {
    return std::span(weights_).subspan(static_cast<size_t>(input * stride_), static_cast<size_t>(stride_));
  }
  std::span<const float> bias() const { return bias_; }

 private:
  int64_t inputs_ = 0, outputs_ = 0, stride_ = 0;
  std::vector<float> weights_, bias_;
};

}  // namespace linac::chain
