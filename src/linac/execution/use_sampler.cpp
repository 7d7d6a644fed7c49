#include "linac/execution/use_sampler.h"

#include "linac/launch/attempt_folder.h"

namespace linac::execution {

std::vector<catalog::KeyedPoint> UseSampler::sample(const std::filesystem::path& attempt, const std::vector<int>& gpus,
                                                    int64_t step, int64_t time_ms) {
  const auto now = std::chrono::steady_clock::now();
  if (now - last_ < kEvery) return {};
  const double seconds = std::chrono::duration<double>(now - last_).count();
  last_ = now;
  const auto use = launch::use_of(launch::processes_with(launch::kAttemptVariable, attempt.string()));
  std::vector<catalog::KeyedPoint> points;
  const auto add = [&](std::string key, double value) { points.push_back({std::move(key), {step, time_ms, value}}); };
  constexpr double kMegabyte = 1 << 20;
  add("system/memory_mb", static_cast<double>(use.memory_bytes) / kMegabyte);
  add("system/read_mb", static_cast<double>(use.read_bytes) / kMegabyte);
  add("system/written_mb", static_cast<double>(use.written_bytes) / kMegabyte);
  // Processes that have ended meanwhile take their time with them.
  if (cpu_s_ >= 0 && use.cpu_s >= cpu_s_) add("system/cores_used", (use.cpu_s - cpu_s_) / seconds);
  cpu_s_ = use.cpu_s;

  const launch::HostUse host = host_.read();
  add("system/host_memory_mb", static_cast<double>(host.memory_bytes) / kMegabyte);
  if (host_last_) {
    add("system/host_cores_busy", (host.busy_s - host_last_->busy_s) / seconds);
    if (host.energy_j && host_last_->energy_j)
      add("system/host_power_w", (*host.energy_j - *host_last_->energy_j) / seconds);
    if (host.energy_j && host_first_->energy_j)
      add("system/host_energy_kj", (*host.energy_j - *host_first_->energy_j) / 1000);
  }
  if (!host_first_) host_first_ = host;
  host_last_ = host;

  for (const launch::GpuUse& gpu : launch::gpu_meter().read(gpus)) {
    const std::string name = "system/gpu" + std::to_string(gpu.number);
    add(name + "_utilization", gpu.utilization);
    add(name + "_memory_mb", static_cast<double>(gpu.memory_bytes) / kMegabyte);
    if (gpu.power_w) add(name + "_power_w", *gpu.power_w);
  }
  return points;
}

}  // namespace linac::execution
