#include "linac/control/execution/use_sampler.h"

#include <algorithm>
#include <string>

namespace linac::execution {

std::vector<catalog::KeyedPoint> UseSampler::sample(const launch::AttemptUse& use, Time now, int64_t step,
                                                    int64_t time_ms) {
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  wait_ = std::clamp(2 * wait_, kFirst, kEvery);
  std::vector<catalog::KeyedPoint> points;
  const auto add = [&](std::string key, double value) { points.push_back({std::move(key), {step, time_ms, value}}); };
  const auto add_bytes = [&](const char* key, const std::optional<int64_t>& bytes) {
    constexpr double kMegabyte = 1 << 20;
    if (bytes) add(key, static_cast<double>(*bytes) / kMegabyte);
  };
  add_bytes("system/memory_mb", use.memory_bytes);
  add_bytes("system/read_mb", use.read_bytes);
  add_bytes("system/written_mb", use.written_bytes);
  // Processes that have ended meanwhile take their time with them.
  if (use.cpu_s && cpu_s_ && *use.cpu_s >= *cpu_s_) add("system/cores_used", (*use.cpu_s - *cpu_s_) / seconds);
  cpu_s_ = use.cpu_s;

  if (use.host) {
    const launch::HostUse& host = *use.host;
    add_bytes("system/host_memory_mb", host.memory_bytes);
    if (host_last_) {
      add("system/host_cores_busy", (host.busy_s - host_last_->busy_s) / seconds);
      if (host.energy_j && host_last_->energy_j)
        add("system/host_power_w", (*host.energy_j - *host_last_->energy_j) / seconds);
      if (host.energy_j && host_first_->energy_j)
        add("system/host_energy_kj", (*host.energy_j - *host_first_->energy_j) / 1000);
    }
    if (!host_first_) host_first_ = host;
    host_last_ = host;
  }

  for (const energy::GpuUse& gpu : use.gpus) {
    const std::string name = "system/gpu" + std::to_string(gpu.number);
    add(name + "_utilization", gpu.utilization);
    add_bytes((name + "_memory_mb").c_str(), gpu.memory_bytes);
    if (gpu.power_w) add(name + "_power_w", *gpu.power_w);
  }
  return points;
}

}  // namespace linac::execution
