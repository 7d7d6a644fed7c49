#pragma once
// How a model's layers are computed: a job's train.kernels and train.precision.

#include <string>

namespace linac::models {

/// linac's own kernels where they apply, or LibTorch's alone (ATen), to compare with. The two differ in the last bits.
enum class Kernels { kLinac, kAten };

/// What is kept between layers: float, or bfloat16 (half the memory and less to move; sums and weights stay float).
enum class Precision { kFp32, kBf16 };

struct Numerics {
  Kernels kernels = Kernels::kLinac;
  Precision precision = Precision::kFp32;
};

/// From "linac" or "aten", and "fp32" or "bf16"; other names are a broken invariant (the job has been checked).
Numerics numerics_of(const std::string& kernels, const std::string& precision);

}  // namespace linac::models
