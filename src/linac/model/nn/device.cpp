#include "linac/model/nn/device.h"

#include <ATen/Context.h>
#include <dlfcn.h>
#include <fmt/format.h>

#include <atomic>

#include "linac/base/base/error.h"
#include "linac/model/graph/place.h"
#include "linac/model/kernels/cuda/device.h"

namespace linac::nn {
namespace {

std::atomic<int> cuda_index = 0;

}  // namespace

void need_cuda(int index) {
  kernels::cuda::need_device();
  // Never unloaded: its kernels register themselves with the dispatcher.
  if (dlopen("libtorch_cuda.so", RTLD_NOW | RTLD_GLOBAL) == nullptr) {
    throw environment_error(fmt::format(
        "[cuda] LibTorch's CUDA half cannot be loaded ({}); run LINAC_CUDA=run deps/get.sh, or set train.device = cpu",
        dlerror()));
  }
  if (!at::hasCUDA()) {
    throw environment_error(
        "[cuda] LibTorch finds no CUDA, though a GPU is there: does libtorch_cuda.so belong to this LibTorch?");
  }
  cuda_index = index % kernels::cuda::device_count();
}

int cuda_devices() {
  return kernels::cuda::device_count();
}

at::Device torch_device(Device device) {
  if (device == Device::kCpu) return at::kCPU;
  const int gpu = graph::current_place().gpu;
  return {at::kCUDA, static_cast<at::DeviceIndex>(gpu >= 0 ? gpu : cuda_index.load())};
}

}  // namespace linac::nn
