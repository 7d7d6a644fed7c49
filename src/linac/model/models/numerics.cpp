#include "linac/model/models/numerics.h"

#include "linac/base/base/error.h"
#include "linac/model/nn/device.h"

namespace linac::models {

Numerics numerics_of(const std::string& kernels, const std::string& precision, const std::string& device) {
  LINAC_CHECK(kernels == "linac" || kernels == "aten");
  LINAC_CHECK(precision == "fp32" || precision == "bf16");
  LINAC_CHECK(device == "cpu" || device == "cuda");
  return {kernels == "linac" ? Kernels::kLinac : Kernels::kAten,
          precision == "fp32" ? Precision::kFp32 : Precision::kBf16,
          device == "cpu" ? Device::kCpu : Device::kCuda,
          {}};
}

void need_device(Device device, int index) {
  if (device == Device::kCuda) nn::need_cuda(index);
}

int devices_there(Device device) {
  return device == Device::kCuda ? nn::cuda_devices() : 1;
}

}  // namespace linac::models
