#pragma once
// What a whole host does, from /proc and /sys. One thread an object.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>

#include "linac/control/launch/use.h"

namespace linac::launch {

class HostMeter {
 public:
  explicit HostMeter(std::filesystem::path proc = "/proc", std::filesystem::path sys = "/sys");

  /// Energy is that of Linux's powercap (RAPL: packages and DRAM), whose counters wrap around; often only root may read
  /// them, and virtual machines have none.
  HostUse read();

 private:
  std::optional<double> energy_j();

  struct Counter {
    int64_t last_uj = 0, range_uj = 0;
  };
  const std::filesystem::path proc_, sys_;
  std::map<std::string, Counter> counters_;  // by folder
  double energy_j_ = 0;
};

}  // namespace linac::launch
