#pragma once
// The energy of the machine that this worker computes on, and of its GPUs, read once a second or so while it takes
// part. Thread-safe.

#include <chrono>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <thread>
#include <vector>

#include "linac/base/energy/energy_meter.h"
#include "linac/base/job/told_energy.h"

namespace linac::train {

class HostEnergy {
 public:
  /// `gpus`: CUDA's numbers. `model_w`: of this worker, where nothing can be read; 0: not known.
  HostEnergy(const std::vector<int>& gpus, double model_w, std::filesystem::path sys = "/sys",
             const energy::GpuMeter& meter = energy::gpu_meter());
  ~HostEnergy();
  HostEnergy(const HostEnergy&) = delete;
  HostEnergy& operator=(const HostEnergy&) = delete;

  /// Half a second in which no worker computes, where anything can be read.
  void look_at_idle();

  /// Now, so that nothing is missing in what is told next.
  void read();
  job::ToldEnergy told();

 private:
  void read_locked();

  const double from_;  // unix seconds
  const std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now();
  std::mutex mutex_;
  std::condition_variable over_;
  bool is_over_ = false;
  double read_at_s_ = 0;
  energy::EnergyMeter meter_;
  std::thread thread_;  // if anything can be read
};

}  // namespace linac::train
