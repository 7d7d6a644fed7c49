#pragma once
// Numbers of ours as a tensor that borrows them. Thread-safe.

#include <ATen/ATen.h>

#include <cstdint>
#include <span>
#include <vector>

namespace linac::nn {

/// Shares the memory of `values`, which must outlive the tensor; nothing may write through it.
inline at::Tensor tensor_view(std::span<const float> values, at::IntArrayRef shape) {
  return at::from_blob(const_cast<float*>(values.data()), shape, at::kFloat);  // takes a mutable pointer
}

/// The shape of so many events: their number, then an event's own axes.
inline std::vector<int64_t> batch_shape(int64_t events, at::IntArrayRef event) {
  std::vector<int64_t> shape{events};
  shape.insert(shape.end(), event.begin(), event.end());
  return shape;
}

}  // namespace linac::nn
