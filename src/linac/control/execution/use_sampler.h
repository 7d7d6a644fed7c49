#pragma once
// What an attempt uses, and what its host and its GPUs do meanwhile, as metrics "system/...", every kEvery, and
// more often at first: a run of some seconds has its account, too. One thread.

#include <chrono>
#include <optional>
#include <vector>

#include "linac/control/catalog/points.h"
#include "linac/control/launch/use.h"

namespace linac::execution {

class UseSampler {
 public:
  using Time = std::chrono::steady_clock::time_point;
  bool due(Time now) const { return now - last_ >= wait_; }
  /// Points at `step` of what `use` tells; those of rates begin with the second sample.
  std::vector<catalog::KeyedPoint> sample(const launch::AttemptUse& use, Time now, int64_t step, int64_t time_ms);

  static constexpr std::chrono::seconds kEvery{10}, kFirst{1};  // the second sample comes after kFirst

 private:
  Time last_{};
  std::chrono::seconds wait_{0};  // twice as long after each sample
  std::optional<double> cpu_s_;
  std::optional<launch::HostUse> host_first_, host_last_;
};

}  // namespace linac::execution
