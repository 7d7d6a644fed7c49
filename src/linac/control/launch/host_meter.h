#pragma once
// What a whole host does, from /proc and /sys. One thread an object.

#include <filesystem>

#include "linac/base/energy/rapl.h"
#include "linac/control/launch/use.h"

namespace linac::launch {

class HostMeter {
 public:
  explicit HostMeter(std::filesystem::path proc = "/proc", std::filesystem::path sys = "/sys");

  HostUse read();

 private:
  const std::filesystem::path proc_;
  energy::Rapl rapl_;
};

}  // namespace linac::launch
