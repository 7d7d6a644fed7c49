#include "linac/model/kernels/cuda/check.cuh"
#include "linac/model/kernels/cuda/tree_sum.h"

namespace linac::kernels::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int64_t kBlocksMax = 1024;  // each thread takes several numbers of a large buffer

// To nearest, ties to even; NaN stays NaN. The processor's way: base/base/bfloat16.h.
__device__ __forceinline__ float rounded(float value) {
  unsigned bits = *reinterpret_cast<const unsigned*>(&value);
  bits = value != value ? bits | 0x400000U : bits + (0x7FFFU + (bits >> 16 & 1U));
  bits &= 0xFFFF0000U;
  return *reinterpret_cast<const float*>(&bits);
}

template <bool kRounded>
__global__ void add_kernel(float* sum, const float* other, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step) {
    const float value = sum[i] + other[i];
    sum[i] = kRounded ? rounded(value) : value;
  }
}

__global__ void round_kernel(float* values, int64_t count) {
  const int64_t step = static_cast<int64_t>(gridDim.x) * kThreads;
  for (int64_t i = static_cast<int64_t>(blockIdx.x) * kThreads + threadIdx.x; i < count; i += step)
    values[i] = rounded(values[i]);
}

unsigned blocks_for(int64_t count) {
  const int64_t blocks = divided(count, kThreads);
  return static_cast<unsigned>(blocks < kBlocksMax ? blocks : kBlocksMax);
}

}  // namespace

void add(float* sum, const float* other, int64_t count, Rounding rounding, void* stream) {
  if (count == 0) return;
  if (rounding == Rounding::kBfloat16)
    add_kernel<true><<<blocks_for(count), kThreads, 0, stream_of(stream)>>>(sum, other, count);
  else
    add_kernel<false><<<blocks_for(count), kThreads, 0, stream_of(stream)>>>(sum, other, count);
  check_launch("adding");
}

void round_to_bfloat16(float* values, int64_t count, void* stream) {
  if (count == 0) return;
  round_kernel<<<blocks_for(count), kThreads, 0, stream_of(stream)>>>(values, count);
  check_launch("rounding");
}

}  // namespace linac::kernels::cuda
