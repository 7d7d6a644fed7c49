#include "linac/base/energy/gpu_meter.h"

#include <dlfcn.h>

#include <algorithm>
#include <charconv>
#include <sstream>
#include <type_traits>

namespace linac::energy {
namespace {

// As nvml.h has them (NVML API reference, "Device Queries"); the ABI of these is fixed.
using Device = void*;
constexpr int kSuccess = 0;

}  // namespace

struct GpuMeter::Calls {
  int (*initialize)();
  int (*shut_down)();
  int (*device)(unsigned, Device*);
  int (*utilization)(Device, unsigned*);       // {gpu, memory}
  int (*memory)(Device, unsigned long long*);  // {total, free, used}
  int (*power_mw)(Device, unsigned*);
  int (*energy_mj)(Device, unsigned long long*);  // null: a driver of before Volta
};

GpuMeter::GpuMeter(const std::string& library) : library_(dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) return;
  Calls calls{};
  bool all = true;
  const auto find = [&](auto& call, const char* name) {
    call = reinterpret_cast<std::remove_reference_t<decltype(call)>>(dlsym(library_, name));
    all = all && call != nullptr;
  };
  find(calls.initialize, "nvmlInit_v2");
  find(calls.shut_down, "nvmlShutdown");
  find(calls.device, "nvmlDeviceGetHandleByIndex_v2");
  find(calls.utilization, "nvmlDeviceGetUtilizationRates");
  find(calls.memory, "nvmlDeviceGetMemoryInfo");
  find(calls.power_mw, "nvmlDeviceGetPowerUsage");
  const bool without_energy = all;
  find(calls.energy_mj, "nvmlDeviceGetTotalEnergyConsumption");
  if (without_energy && calls.initialize() == kSuccess) calls_ = std::make_unique<Calls>(calls);
}

GpuMeter::~GpuMeter() {
  if (calls_) calls_->shut_down();
  if (library_ != nullptr) dlclose(library_);
}

std::vector<GpuUse> GpuMeter::read(const std::vector<int>& gpus) const {
  std::vector<GpuUse> all;
  if (!calls_) return all;
  for (const int number : gpus) {
    Device device = nullptr;
    unsigned utilization[2] = {};
    unsigned long long memory[3] = {};
    if (calls_->device(static_cast<unsigned>(number), &device) != kSuccess ||
        calls_->utilization(device, utilization) != kSuccess || calls_->memory(device, memory) != kSuccess)
      continue;
    unsigned power_mw = 0;
    const bool power = calls_->power_mw(device, &power_mw) == kSuccess;
    unsigned long long energy_mj = 0;
    const bool energy = calls_->energy_mj != nullptr && calls_->energy_mj(device, &energy_mj) == kSuccess;
    all.push_back({.number = number,
                   .utilization = utilization[0] / 100.0,
                   .memory_bytes = static_cast<int64_t>(memory[2]),
                   .power_w = power ? std::optional(power_mw / 1000.0) : std::nullopt,
                   .energy_j = energy ? std::optional(static_cast<double>(energy_mj) / 1000) : std::nullopt});
  }
  return all;
}

std::vector<int> gpu_numbers(const std::vector<int>& devices, const char* visible) {
  if (visible == nullptr) return devices;
  std::vector<int> seen;
  std::istringstream words(visible);
  for (std::string word; std::getline(words, word, ',');) {
    word.erase(0, word.find_first_not_of(' '));
    int number = -1;
    const char* const end = word.data() + word.size();
    const auto [next, error] = std::from_chars(word.data(), end, number);
    seen.push_back(error == std::errc{} && next == end ? std::max(-1, number) : -1);
  }
  std::vector<int> numbers;
  for (const int device : devices)
    numbers.push_back(device >= 0 && device < static_cast<int>(seen.size()) ? seen[static_cast<size_t>(device)] : -1);
  return numbers;
}

const GpuMeter& gpu_meter() {
  static const GpuMeter meter;
  return meter;
}

}  // namespace linac::energy
