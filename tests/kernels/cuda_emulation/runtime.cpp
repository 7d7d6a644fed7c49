#include "runtime.h"

#include <cstring>
#include <utility>

#include "memory.h"

namespace linac::cuda_emulation {
namespace {

cudaError_t last_error = cudaSuccess;
std::string last_fault;

cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace

void set_error(cudaError_t error) {
  last_error = error;
}

void set_fault(const std::string& what) {
  last_fault = what;
  last_error = cudaErrorLaunchFailure;
}

}  // namespace linac::cuda_emulation

using linac::cuda_emulation::answer, linac::cuda_emulation::last_error, linac::cuda_emulation::memory;

const char* cudaGetErrorString(cudaError_t error) {
  switch (error) {
    case cudaSuccess:
      return "no error";
    case cudaErrorInvalidValue:
      return "invalid argument";
    case cudaErrorMemoryAllocation:
      return "out of memory";
    case cudaErrorInvalidConfiguration:
      return "invalid configuration argument";
    case cudaErrorInvalidDevice:
      return "invalid device ordinal";
    case cudaErrorLaunchFailure:
      return linac::cuda_emulation::last_fault.c_str();
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = 1;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int index) {
  return answer(index == 0 ? cudaSuccess : cudaErrorInvalidDevice);
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  *data = memory.allocate(bytes);
  return answer(*data != nullptr || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* data) {
  const bool freed = data == nullptr || memory.release(data);
  return answer(freed ? cudaSuccess : cudaErrorInvalidValue);
}

// As on a GPU, what waits for the launches before hears of their faults.
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind) {
  const bool to_device = kind == cudaMemcpyHostToDevice;
  if (!memory.allocated(to_device ? to : from, bytes)) return answer(cudaErrorInvalidValue);
  if (last_error == cudaErrorLaunchFailure) return last_error;
  std::memcpy(to, from, bytes);
  if (to_device) memory.written_by_host(to, bytes);
  return cudaSuccess;
}
