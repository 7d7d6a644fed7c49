#pragma once
// What NVIDIA's GPUs do, by NVML, which is loaded if the host has it. Thread-safe.

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace linac::energy {

struct GpuUse {
  int number = 0;
  double utilization = 0;  // 0 to 1: part of the time in which a kernel ran
  int64_t memory_bytes = 0;
  std::optional<double> power_w, energy_j;  // energy: since its driver was loaded; none if the GPU does not tell
};

class GpuMeter {
 public:
  explicit GpuMeter(const std::string& library = "libnvidia-ml.so.1");
  ~GpuMeter();
  GpuMeter(const GpuMeter&) = delete;
  GpuMeter& operator=(const GpuMeter&) = delete;

  bool is_there() const { return calls_ != nullptr; }

  /// Those of `gpus` that answer.
  std::vector<GpuUse> read(const std::vector<int>& gpus) const;

 private:
  struct Calls;
  void* library_ = nullptr;
  std::unique_ptr<Calls> calls_;  // null: NVML is not there
};

/// NVML's numbers of CUDA's devices, by CUDA_VISIBLE_DEVICES (null: it sees all); -1: not to be told from its name.
std::vector<int> gpu_numbers(const std::vector<int>& devices, const char* visible);

/// The one of this process; loaded at the first call.
const GpuMeter& gpu_meter();

}  // namespace linac::energy
