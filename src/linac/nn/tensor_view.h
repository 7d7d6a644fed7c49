#pragma once
// Numbers of ours as a tensor that borrows them. Thread-safe.

#include <ATen/ATen.h>

#include <span>

namespace linac::nn {

/// Shares the memory of `values`, which must outlive the tensor; nothing may write through it.
inline at::Tensor tensor_view(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);  // takes a mutable pointer
}

}  // namespace linac::nn
