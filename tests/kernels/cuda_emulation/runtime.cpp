#include "runtime.h"

#include <cstdio>
#include <cstring>
#include <map>
#include <utility>

#include "memory.h"

namespace linac::cuda_emulation {
namespace {

cudaError_t last_error = cudaSuccess;
int current_device = 0;
std::map<const void*, std::pair<size_t, int>> allocations;  // bytes and GPU, by where they begin
std::string last_fault;

cudaError_t answer(cudaError_t error) {
  if (error != cudaSuccess) last_error = error;
  return error;
}

}  // namespace

bool usable(cudaStream_t stream) {
  return stream == nullptr || stream->device == current_device || answer(cudaErrorInvalidResourceHandle) == cudaSuccess;
}

void set_error(cudaError_t error) {
  last_error = error;
}

void set_fault(const std::string& what) {
  last_fault = what;
  last_error = cudaErrorLaunchFailure;
}

}  // namespace linac::cuda_emulation

using linac::cuda_emulation::allocations, linac::cuda_emulation::answer, linac::cuda_emulation::current_device,
    linac::cuda_emulation::kDevices, linac::cuda_emulation::last_error, linac::cuda_emulation::memory,
    linac::cuda_emulation::usable;

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
    case cudaErrorInvalidResourceHandle:
      return "invalid resource handle";
    case cudaErrorLaunchFailure:
      return linac::cuda_emulation::last_fault.c_str();
  }
  return "unrecognized error code";
}

cudaError_t cudaGetLastError() {
  return std::exchange(last_error, cudaSuccess);
}

cudaError_t cudaGetDeviceCount(int* count) {
  *count = kDevices;
  return cudaSuccess;
}

cudaError_t cudaSetDevice(int index) {
  if (index < 0 || index >= kDevices) return answer(cudaErrorInvalidDevice);
  current_device = index;
  return cudaSuccess;
}

cudaError_t cudaGetDevice(int* index) {
  *index = current_device;
  return cudaSuccess;
}

cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index) {
  if (index < 0 || index >= kDevices) return answer(cudaErrorInvalidDevice);
  std::snprintf(properties->name, sizeof(properties->name), "emulated");
  return cudaSuccess;
}

cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory) {
  auto behind = allocations.upper_bound(memory);
  if (behind == allocations.begin()) return answer(cudaErrorInvalidValue);
  const auto& [begin, size_and_device] = *--behind;
  if (static_cast<const char*>(memory) >= static_cast<const char*>(begin) + size_and_device.first)
    return answer(cudaErrorInvalidValue);
  attributes->device = size_and_device.second;
  return cudaSuccess;
}

cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned) {
  *stream = new EmulatedStream{current_device};
  return cudaSuccess;
}

cudaError_t cudaStreamDestroy(cudaStream_t stream) {
  delete stream;
  return cudaSuccess;
}

cudaError_t cudaStreamSynchronize(cudaStream_t) {
  return last_error == cudaErrorLaunchFailure ? last_error : cudaSuccess;
}

cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind, cudaStream_t stream) {
  if (!usable(stream)) return last_error;
  if (last_error == cudaErrorLaunchFailure) return last_error;
  std::memcpy(to, from, bytes);
  if (memory.allocated(to, bytes)) memory.written_by_host(to, bytes);
  return cudaSuccess;
}

cudaError_t cudaMemsetAsync(void* to, int value, size_t bytes, cudaStream_t stream) {
  if (!usable(stream)) return last_error;
  if (!memory.allocated(to, bytes)) return answer(cudaErrorInvalidValue);
  std::memset(to, value, bytes);
  memory.written_by_host(to, bytes);
  return cudaSuccess;
}

cudaError_t cudaMalloc(void** data, size_t bytes) {
  *data = memory.allocate(bytes);
  if (*data != nullptr) allocations[*data] = {bytes, current_device};
  return answer(*data != nullptr || bytes == 0 ? cudaSuccess : cudaErrorMemoryAllocation);
}

cudaError_t cudaFree(void* data) {
  const bool freed = data == nullptr || memory.release(data);
  if (freed) allocations.erase(data);
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
