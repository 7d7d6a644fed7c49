#pragma once
// CUDA's answers as linac's errors.

#include <cuda_runtime.h>

#include <string>

#include "linac/base/base/error.h"

namespace linac::kernels::cuda {

inline void check(cudaError_t status, const char* what) {
  if (status == cudaSuccess) return;
  cudaGetLastError();  // or the next launch would report it
  throw environment_error(std::string("[cuda] ") + what + ": " + cudaGetErrorString(status));
}

/// After <<<>>>: what the launch itself complains about.
inline void check_launch(const char* what) {
  check(cudaGetLastError(), what);
}

inline cudaStream_t stream_of(void* stream) {
  return static_cast<cudaStream_t>(stream);
}

inline int64_t divided(int64_t n, int64_t by) {
  return (n + by - 1) / by;
}

}  // namespace linac::kernels::cuda
