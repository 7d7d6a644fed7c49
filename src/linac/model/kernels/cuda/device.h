#pragma once
// The GPU as plain functions, so that nobody else needs CUDA's headers. A build without CUDA has no_cuda.cpp in place
// of the .cu files of this folder: then there is no device, and every other function throws an environment error.
//
// Thread-safe. A `stream` is a cudaStream_t; work on it is asynchronous. CUDA's errors are environment errors.

#include <cstdint>
#include <string>

namespace linac::kernels::cuda {

/// GPUs that this process can use; 0 also where the driver is missing.
int device_count();

/// Environment error that says what to do, if there is none.
void need_device();

/// Its name, for people.
std::string device_name(int index);

/// The calling thread's device from now on; which one it is.
void use_device(int index);
int device_in_use();

/// A stream of the calling thread's device, beside its others. What is done on it is done in its order.
void* make_stream();
void end_stream(void* stream) noexcept;
/// Until the work on it is done; an error of that work is thrown here.
void wait_for(void* stream);

/// Begun on a stream. `from` may be memory of the host or of the GPU; the host's is to stay as it is until wait_for().
void copy(float* to, const float* from, int64_t count, void* stream);
void clear(float* values, int64_t count, void* stream);

/// Memory of the calling thread's device for `count` floats, and its way back. Networks take theirs from LibTorch.
float* allocate(int64_t count);
void release(float* memory);
void copy_to_device(float* to, const float* from, int64_t count);
void copy_to_host(float* to, const float* from, int64_t count);  // waits for the work before

}  // namespace linac::kernels::cuda
