#pragma once
// Energy of the processors and their memory, by Linux's powercap (RAPL: Documentation/power/powercap in the kernel).
// One thread an object.
//
// Counted are the packages, each once, though two interfaces may show it (intel-rapl, intel-rapl-mmio), and the memory
// ("dram") of each, which a package's counter does not hold (Intel SDM 3B, RAPL domains). Cores and graphics are parts
// of a package. "psys" holds packages, memory and more once again, so it counts only where no package can be read.
// Counters wrap around after some minutes of full load, and twice is not noticed: read at least once a minute. Often
// only root may read them, and most virtual machines have none.

#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace linac::energy {

class Rapl {
 public:
  explicit Rapl(std::filesystem::path sys = "/sys");

  /// Joules since the first reading; none if nothing can be read.
  std::optional<double> read();

  /// What the last reading counted, "2 packages and their memory", or why nothing.
  const std::string& words() const { return words_; }

 private:
  struct Counter {
    int64_t last_uj = 0, range_uj = 0;
  };
  bool count(const std::filesystem::path& zone, const std::string& name);

  const std::filesystem::path folder_;
  std::map<std::string, Counter> counters_;  // by name: "package-0", "package-0 dram"
  double joules_ = 0;
  std::string words_, trouble_;
};

}  // namespace linac::energy
