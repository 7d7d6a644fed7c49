#include "linac/control/launch/host_meter.h"

#include <unistd.h>

#include <charconv>
#include <sstream>

#include "linac/base/base/thread_facts.h"

namespace linac::launch {
namespace {

std::optional<int64_t> number_in(const std::filesystem::path& file) {
  const std::string text = proc_text(file.string());
  int64_t value = 0;
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return value;
}

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
    : proc_(std::move(proc)), sys_(std::move(sys)) {}

std::optional<double> HostMeter::energy_j() {
  bool told = false;
  std::error_code none;
  for (const auto& entry : std::filesystem::directory_iterator(sys_ / "class/powercap", none)) {
    const std::string name = proc_text((entry.path() / "name").string());
    // A package holds its cores and graphics, but not the memory; "psys" holds all of them once more.
    if (!name.starts_with("package-") && !name.starts_with("dram")) continue;
    const auto now_uj = number_in(entry.path() / "energy_uj");
    if (!now_uj) continue;
    told = true;
    const auto [found, fresh] = counters_.try_emplace(entry.path().string());
    Counter& counter = found->second;
    if (fresh)
      counter.range_uj = number_in(entry.path() / "max_energy_range_uj").value_or(0);
    else
      energy_j_ +=
          1e-6 * static_cast<double>(*now_uj - counter.last_uj + (*now_uj < counter.last_uj ? counter.range_uj : 0));
    counter.last_uj = *now_uj;
  }
  return told ? std::optional(energy_j_) : std::nullopt;
}

HostUse HostMeter::read() {
  return {.busy_s = busy_s(proc_text((proc_ / "stat").string())),
          .memory_bytes = memory_bytes(proc_text((proc_ / "meminfo").string())),
          .energy_j = energy_j()};
}

}  // namespace linac::launch
