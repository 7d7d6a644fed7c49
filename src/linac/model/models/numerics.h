#pragma once
// How a model's layers are computed, and where: a job's train.kernels, train.precision and train.device.

#include <string>

#include "linac/model/graph/split/region.h"

namespace linac::models {

/// linac's own kernels where they apply, or LibTorch's alone (ATen), to compare with. The two differ in the last bits.
enum class Kernels { kLinac, kAten };

/// What is kept between layers, and of recurrent ones for the backward pass: float, or bfloat16 (half the memory and
/// less to move; sums and weights stay float).
enum class Precision { kFp32, kBf16 };

enum class Device { kCpu, kCuda };

struct Numerics {
  Kernels kernels = Kernels::kLinac;
  Precision precision = Precision::kFp32;
  Device device = Device::kCpu;
  graph::PartGrid split{};  // of the images of a replica, where the model can be divided (models::Supervised)
};

/// From "linac" or "aten", "fp32" or "bf16", and "cpu" or "cuda"; other names are a broken invariant (the job has been
/// checked).
Numerics numerics_of(const std::string& kernels, const std::string& precision, const std::string& device);

/// Makes the device ready for this process: GPU number `index`, counted round. Call it before anything else of
/// `models`. Environment error if this build or machine has no such device.
void need_device(Device device, int index = 0);
/// Devices of that kind that this process can use; 1 for the processor.
int devices_there(Device device);

}  // namespace linac::models
