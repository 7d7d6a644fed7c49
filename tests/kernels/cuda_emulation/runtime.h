#pragma once
// CUDA's error of the last call, which the launches set too.

#include <cuda_runtime.h>

#include <string>

namespace linac::cuda_emulation {

void set_error(cudaError_t error);
/// cudaErrorLaunchFailure, with the words that cudaGetErrorString gives until the next one.
void set_fault(const std::string& what);

}  // namespace linac::cuda_emulation
