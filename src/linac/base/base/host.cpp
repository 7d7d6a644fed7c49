#include "linac/base/base/host.h"

#include <unistd.h>

#include <array>
#include <fstream>

namespace linac {

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 && name[0] != 0 ? name.data() : "unknown";
}

double host_memory_gib() {
  return static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE)) / 0x1p30;
}

const std::string& processor_name() {
  static const std::string name = [] {
    std::ifstream facts("/proc/cpuinfo");
    for (std::string line; std::getline(facts, line);)
      if (line.starts_with("model name") && line.find(": ") != std::string::npos)
        return line.substr(line.find(": ") + 2);
    return std::string("processor not known");
  }();
  return name;
}

}  // namespace linac
