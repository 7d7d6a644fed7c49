#include "linac/model/kernels/cuda/device.h"

#include "linac/model/kernels/cuda/check.cuh"

namespace linac::kernels::cuda {

int device_count() {
  int count = 0;
  if (cudaGetDeviceCount(&count) != cudaSuccess) {
    cudaGetLastError();  // or the next call would report it
    return 0;
  }
  return count;
}

void need_device() {
  int count = 0;
  const cudaError_t status = cudaGetDeviceCount(&count);
  if (status == cudaSuccess && count > 0) return;
  cudaGetLastError();
  throw environment_error(std::string("[cuda] no GPU can be used (") +
                          (status == cudaSuccess ? "none is there" : cudaGetErrorString(status)) +
                          "); look at nvidia-smi and CUDA_VISIBLE_DEVICES, or set train.device = cpu");
}

std::string device_name(int index) {
  cudaDeviceProp properties;
  check(cudaGetDeviceProperties(&properties, index), "asking for a GPU's name");
  return properties.name;
}

void use_device(int index) {
  check(cudaSetDevice(index), "choosing a GPU");
}

int device_in_use() {
  int index = 0;
  check(cudaGetDevice(&index), "asking for the GPU in use");
  return index;
}

void* make_stream() {
  cudaStream_t stream = nullptr;
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "making a stream");
  return stream;
}

void end_stream(void* stream) noexcept {
  if (cudaStreamDestroy(stream_of(stream)) != cudaSuccess) cudaGetLastError();
}

void wait_for(void* stream) {
  check(cudaStreamSynchronize(stream_of(stream)), "waiting");
}

void copy(float* to, const float* from, int64_t count, void* stream) {
  const size_t bytes = static_cast<size_t>(count) * sizeof(float);
  check(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, stream_of(stream)), "copying");
}

void clear(float* values, int64_t count, void* stream) {
  check(cudaMemsetAsync(values, 0, static_cast<size_t>(count) * sizeof(float), stream_of(stream)), "clearing");
}

float* allocate(int64_t count) {
  void* memory = nullptr;
  check(cudaMalloc(&memory, static_cast<size_t>(count) * sizeof(float)), "memory");
  return static_cast<float*>(memory);
}

void release(float* memory) {
  check(cudaFree(memory), "memory");
}

void copy_to_device(float* to, const float* from, int64_t count) {
  check(cudaMemcpy(to, from, static_cast<size_t>(count) * sizeof(float), cudaMemcpyHostToDevice), "copying");
}

void copy_to_host(float* to, const float* from, int64_t count) {
  check(cudaMemcpy(to, from, static_cast<size_t>(count) * sizeof(float), cudaMemcpyDeviceToHost), "copying");
}

}  // namespace linac::kernels::cuda
