#pragma once
// What NVIDIA's GPUs do, by NVML, which is loaded if the host has it. Thread-safe.

#include <memory>
#include <string>
#include <vector>

#include "linac/control/launch/use.h"

namespace linac::launch {

class GpuMeter {
 public:
  explicit GpuMeter(const std::string& library = "libnvidia-ml.so.1");
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  /// Those of `gpus` that answer.
  std::vector<GpuUse> read(const std::vector<int>& gpus) const;

 private:
  struct Calls;
  void* library_ = nullptr;
  std::unique_ptr<Calls> calls_;  // null: NVML is not there
};

/// The one of this process; loaded at the first call.
const GpuMeter& gpu_meter();

}  // namespace linac::launch
