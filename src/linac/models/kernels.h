#pragma once
// What computes a model's layers: a job's train.kernels.

#include <string>

namespace linac::models {

/// linac's own kernels where they apply, or LibTorch's alone (ATen), to compare with. The two differ in the last bits.
enum class Kernels { kLinac, kAten };

/// "linac" or "aten"; another name is a broken invariant (the job has been checked).
Kernels kernels_of(const std::string& name);

}  // namespace linac::models
