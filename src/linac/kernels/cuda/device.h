#pragma once
// The GPU as plain functions, so that nobody else needs CUDA's headers. A build without CUDA has no_cuda.cpp in place
// of the .cu files of this folder: then there is no device, and every other function throws an environment error.
//
// Thread-safe. A `stream` is a cudaStream_t; work on it is asynchronous. CUDA's errors are environment errors.

#include <cstdint>

namespace linac::kernels::cuda {

/// GPUs that this process can use; 0 also where the driver is missing.
int device_count();

/// Environment error that says what to do, if there is none.
void need_device();

/// The calling thread's device from now on.
void use_device(int index);

/// Memory of the GPU for `count` floats, and its way back. For tests: networks take theirs from LibTorch.
float* allocate(int64_t count);
void release(float* memory);
void copy_to_device(float* to, const float* from, int64_t count);
void copy_to_host(float* to, const float* from, int64_t count);  // waits for the work before

}  // namespace linac::kernels::cuda
