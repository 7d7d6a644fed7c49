#include "linac/base/energy/energy_meter.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/host.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/thread_facts.h"

namespace linac::energy {

const std::string& machine_name() {
  static const std::string name = [] {
    const std::string boot = proc_text("/proc/sys/kernel/random/boot_id");
    const auto end = boot.find_first_not_of("0123456789abcdef-");
    return end == 0 || boot.empty() ? host_name() : boot.substr(0, end);
  }();
  return name;
}

EnergyMeter::EnergyMeter(const GpuMeter& gpus, std::vector<int> gpu_numbers, double model_w, std::filesystem::path sys)
    : gpu_meter_(gpus), numbers_(std::move(gpu_numbers)), model_w_(model_w), rapl_(std::move(sys)) {}

void EnergyMeter::read(double now_s) {
  if (!begun_s_) begun_s_ = now_s;
  now_s_ = std::max(now_s_, now_s);
  if (const auto joules = rapl_.read()) host_j_ = joules;
  for (const GpuUse& use : gpu_meter_.read(numbers_)) {
    if (!use.power_w && !use.energy_j) continue;
    const auto [found, fresh] = gpus_.try_emplace(use.number);
    Gpu& gpu = found->second;
    if (!fresh && use.energy_j && gpu.last.energy_j)
      gpu.joules += std::max(0.0, *use.energy_j - *gpu.last.energy_j);  // below: its driver was loaded anew
    else if (!fresh && use.power_w && gpu.last.power_w)
      gpu.joules += (now_s_ - gpu.at_s) * (*use.power_w + *gpu.last.power_w) / 2;
    gpu.last = use;
    gpu.at_s = now_s_;
  }
}

ByMeter EnergyMeter::measured_j() const {
  ByMeter joules;
  if (host_j_) joules["processors"] = *host_j_;
  for (const auto& [number, gpu] : gpus_) joules[fmt::format("gpu {}", number)] = gpu.joules;
  return joules;
}

void EnergyMeter::begin_idle() {
  idle_from_s_ = now_s_;
  idle_from_j_ = measured_j();
}

void EnergyMeter::end_idle() {
  const double seconds = now_s_ - idle_from_s_;
  if (!(seconds > 0)) return;
  for (const auto& [meter, joules] : measured_j()) idle_w_[meter] = (joules - idle_from_j_[meter]) / seconds;
}

Use EnergyMeter::use() const {
  Use use;
  use.seconds = begun_s_ ? now_s_ - *begun_s_ : 0;
  use.idle_w = idle_w_;
  use.has_processors = host_j_.has_value();
  use.has_gpus = !gpus_.empty();
  const std::string host =
      host_j_ ? fmt::format("processors measured (RAPL: {})", rapl_.words())
              : fmt::format("processors not counted ({})", rapl_.words().empty() ? "not read yet" : rapl_.words());
  if (!use.has_processors && !use.has_gpus) {
    use.joules = model_w_ * use.seconds;
    use.method = model_w_ > 0 ? fmt::format("a model, {:g} W; {}", model_w_, host) : fmt::format("not known; {}", host);
    if (!numbers_.empty()) use.method += gpu_meter_.is_there() ? "; GPUs do not tell" : "; no NVML";
    return use;
  }
  use.measured_j = measured_j();
  for (const auto& [meter, joules] : use.measured_j) use.joules += joules;
  use.method = host;
  const auto told = static_cast<int64_t>(gpus_.size()), all = static_cast<int64_t>(numbers_.size());
  if (told > 0) {
    const bool counted =
        std::ranges::all_of(gpus_, [](const auto& gpu) { return gpu.second.last.energy_j.has_value(); });
    use.method +=
        fmt::format("; {} measured (NVML, {})", plural(told, "GPU"), counted ? "energy" : "power at each reading");
  }
  if (told < all) use.method += fmt::format("; {} not counted", plural(all - told, "GPU"));
  use.method += "; without fans, disks and losses of the power supply";
  return use;
}

}  // namespace linac::energy
