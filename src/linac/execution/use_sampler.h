#pragma once
// What an attempt's processes use of this host, and what the host and the attempt's GPUs do meanwhile, as metrics
// "system/...", every kEvery. One thread.

#include <chrono>
#include <filesystem>
#include <vector>

#include "linac/catalog/metrics.h"
#include "linac/launch/gpu_meter.h"
#include "linac/launch/host_meter.h"

namespace linac::execution {

class UseSampler {
 public:
  /// Points at `step`, or none if it is too early for the next.
  std::vector<catalog::KeyedPoint> sample(const std::filesystem::path& attempt, const std::vector<int>& gpus,
                                          int64_t step, int64_t time_ms);

  static constexpr std::chrono::seconds kEvery{10};

 private:
  std::chrono::steady_clock::time_point last_{};
  double cpu_s_ = -1;
  launch::HostMeter host_;
  std::optional<launch::HostUse> host_first_, host_last_;
};

}  // namespace linac::execution
