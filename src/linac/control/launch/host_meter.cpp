#include "linac/control/launch/host_meter.h"

#include <unistd.h>

#include <sstream>

#include "linac/base/base/thread_facts.h"

namespace linac::launch {
namespace {

double busy_s(const std::string& stat) {
  // "cpu user nice system idle iowait irq softirq steal ..." (proc(5))
  std::istringstream fields(stat);
  std::string word;
  fields >> word;
  double busy = 0, ticks = 0;
  for (int field = 0; field < 8 && fields >> ticks; ++field)
    if (field != 3 && field != 4) busy += ticks;
  return busy / static_cast<double>(sysconf(_SC_CLK_TCK));
}

int64_t memory_bytes(const std::string& meminfo) {
  std::istringstream lines(meminfo);
  std::string name, unit;
  int64_t kilobytes = 0, total = 0, available = 0;
  while (lines >> name >> kilobytes) {
    std::getline(lines, unit);
    if (name == "MemTotal:") total = kilobytes;
    if (name == "MemAvailable:") available = kilobytes;
  }
  return (total - available) * 1024;
}

}  // namespace

HostMeter::HostMeter(std::filesystem::path proc, std::filesystem::path sys)
    : proc_(std::move(proc)), rapl_(std::move(sys)) {}

HostUse HostMeter::read() {
  return {.busy_s = busy_s(proc_text((proc_ / "stat").string())),
          .memory_bytes = memory_bytes(proc_text((proc_ / "meminfo").string())),
          .energy_j = rapl_.read()};
}

}  // namespace linac::launch
