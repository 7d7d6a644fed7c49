#pragma once
// Where tensors live and layers are computed. LibTorch's CUDA half is a library of its own, loaded only for jobs that
// want a GPU: a machine without one needs none of it.

#include <ATen/ATen.h>

namespace linac::nn {

enum class Device { kCpu, kCuda };

/// Loads LibTorch's CUDA half and takes GPU number `index` of those there are, counted round. To be called before
/// anything else of LibTorch, which remembers that it found no CUDA. Environment error if this build, this machine or
/// LibTorch has no CUDA.
void need_cuda(int index);

/// GPUs that this process can use.
int cuda_devices();

/// The processor, or the GPU of the thread's place (model/graph/place.h), else the one that need_cuda took.
at::Device torch_device(Device device);

}  // namespace linac::nn
