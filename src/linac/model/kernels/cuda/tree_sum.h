#pragma once
// The two operations of the sum over replicas (train/comm/replica_sum.h), on a GPU, with the bits of the processor: one
// addition of floats a number, in place, and the rounding of base/base/bfloat16.h. As device.h: plain functions,
// thread-safe, work of the calling thread's device on a stream.

#include <cstdint>

namespace linac::kernels::cuda {

enum class Rounding { kNone, kBfloat16 };

/// sum[i] += other[i], then rounded.
void add(float* sum, const float* other, int64_t count, Rounding rounding, void* stream);
void round_to_bfloat16(float* values, int64_t count, void* stream);

}  // namespace linac::kernels::cuda
