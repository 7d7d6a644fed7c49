#pragma once
// CUDA's error of the last call, which the launches set too.

#include <cuda_runtime.h>

#include <string>

namespace linac::cuda_emulation {

constexpr int kDevices = 3;

/// Whether work of the calling thread may go there: a stream of its current GPU. Else the last error says so.
bool usable(cudaStream_t stream);

void set_error(cudaError_t error);
/// cudaErrorLaunchFailure, with the words that cudaGetErrorString gives until the next one.
void set_fault(const std::string& what);

}  // namespace linac::cuda_emulation
