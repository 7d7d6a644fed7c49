#pragma once
// What the kernels share: short rows of floats in registers, and the end of a forward pass.

namespace linac::kernels::cuda {

/// kCount floats from shared memory, in the widest loads that the alignment of rows of kCount floats allows.
template <int kCount>
__device__ __forceinline__ void load_row(const float* from, float (&to)[kCount]) {
  if constexpr (kCount % 4 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 4) {
      const float4 four = *reinterpret_cast<const float4*>(from + i);
      to[i] = four.x, to[i + 1] = four.y, to[i + 2] = four.z, to[i + 3] = four.w;
    }
  } else if constexpr (kCount % 2 == 0) {
#pragma unroll
    for (int i = 0; i < kCount; i += 2) {
      const float2 two = *reinterpret_cast<const float2*>(from + i);
      to[i] = two.x, to[i + 1] = two.y;
    }
  } else {
#pragma unroll
    for (int i = 0; i < kCount; ++i) to[i] = from[i];
  }
}

__device__ __forceinline__ float activated(float value, float slope) {
  return value >= 0 ? value : slope * value;
}

}  // namespace linac::kernels::cuda
