#pragma once
// What the .cu files use of CUDA, on the emulated GPU. Anything else of CUDA does not compile, rather than be emulated
// wrongly: no atomics, no warp functions, no events. Launches and __shared__ are written anew by rewrite.py.

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <source_location>

#define __global__
#define __device__
#define __host__
#define __forceinline__ inline __attribute__((always_inline))

struct uint3 {
  unsigned x, y, z;
};
struct dim3 {
  unsigned x, y, z;
  constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
struct alignas(8) float2 {
  float x, y;
};
struct alignas(16) float4 {
  float x, y, z, w;
};

inline uint3 threadIdx, blockIdx;
inline dim3 blockDim, gridDim;

inline int min(int a, int b) {
  return a < b ? a : b;
}
inline int max(int a, int b) {
  return a > b ? a : b;
}

void __syncthreads(std::source_location here = std::source_location::current());

enum cudaError_t {
  cudaSuccess = 0,
  cudaErrorInvalidValue = 1,
  cudaErrorMemoryAllocation = 2,
  cudaErrorInvalidConfiguration = 9,
  cudaErrorInvalidDevice = 101,
  cudaErrorInvalidResourceHandle = 400,
  cudaErrorLaunchFailure = 719,  // a fault of a kernel: cudaGetErrorString tells which
};
enum cudaMemcpyKind { cudaMemcpyHostToDevice = 1, cudaMemcpyDeviceToHost = 2, cudaMemcpyDefault = 4 };
constexpr unsigned cudaStreamNonBlocking = 1;
struct EmulatedStream {
  int device;
};
using cudaStream_t = EmulatedStream*;  // null: that of the current device
struct cudaDeviceProp {
  char name[256];
};
struct cudaPointerAttributes {
  int device;
};

const char* cudaGetErrorString(cudaError_t error);
cudaError_t cudaGetLastError();
cudaError_t cudaGetDeviceCount(int* count);
cudaError_t cudaSetDevice(int index);
cudaError_t cudaMalloc(void** memory, size_t bytes);
cudaError_t cudaFree(void* memory);
cudaError_t cudaMemcpy(void* to, const void* from, size_t bytes, cudaMemcpyKind kind);

// Several GPUs share what is emulated of memory; each allocation and each stream is of one of them. Work on a stream is
// done when the call returns.
cudaError_t cudaGetDevice(int* index);
cudaError_t cudaGetDeviceProperties(cudaDeviceProp* properties, int index);
cudaError_t cudaPointerGetAttributes(cudaPointerAttributes* attributes, const void* memory);
cudaError_t cudaStreamCreateWithFlags(cudaStream_t* stream, unsigned flags);
cudaError_t cudaStreamDestroy(cudaStream_t stream);
cudaError_t cudaStreamSynchronize(cudaStream_t stream);
cudaError_t cudaMemcpyAsync(void* to, const void* from, size_t bytes, cudaMemcpyKind kind, cudaStream_t stream);
cudaError_t cudaMemsetAsync(void* memory, int value, size_t bytes, cudaStream_t stream);

#include "launch.h"
