#pragma once
// A graph made runnable as models::Numerics say.

#include "linac/models/numerics.h"
#include "linac/nn/executable.h"

namespace linac::models {

inline nn::Executable executable_of(graph::Graph graph, const Numerics& numerics) {
  return nn::Executable(std::move(graph),
                        numerics.kernels == Kernels::kLinac ? nn::Kernels::kLinac : nn::Kernels::kAten,
                        numerics.precision == Precision::kFp32 ? nn::Precision::kFloat : nn::Precision::kBfloat16,
                        numerics.device == Device::kCpu ? nn::Device::kCpu : nn::Device::kCuda);
}

}  // namespace linac::models
