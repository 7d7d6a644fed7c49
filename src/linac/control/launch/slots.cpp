#include "linac/control/launch/slots.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"

namespace linac::launch {
namespace {

std::vector<int> host_gpus() {
  std::vector<int> gpus;
  for (int gpu = 0; std::filesystem::exists("/dev/nvidia" + std::to_string(gpu)); ++gpu) gpus.push_back(gpu);
  return gpus;
}

int64_t host_memory_mb() {
  return static_cast<int64_t>(1024 * host_memory_gib());
}

int64_t number_of(const std::string& text, const std::string& whole) {
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const std::string unit(end, text.data() + text.size());
  if (error == std::errc{} && value >= 0 && value < (1 << 20)) {
    if (unit.empty() || unit == "M") return value;
    if (unit == "G") return value << 10;
  }
  throw user_error(fmt::format("[slots] '{}' in '{}' is no number; write e.g. cores=8,memory=32G,gpus=2", text, whole));
}

void remove(std::vector<int>& from, const std::vector<int>& what) {
  std::erase_if(from, [&](int item) { return std::find(what.begin(), what.end(), item) != what.end(); });
}

// Those of `what` that are among `own`: an attempt from before a restart may have more than the service gives out now.
void add(std::vector<int>& to, const std::vector<int>& what, const std::vector<int>& own) {
  remove(to, what);
  for (const int item : what)
    if (std::find(own.begin(), own.end(), item) != own.end()) to.push_back(item);
  std::sort(to.begin(), to.end());
}

}  // namespace

Slots::Slots(std::vector<int> cores, int64_t memory_mb, std::vector<int> gpus, int64_t processes_of_core)
    : all_{static_cast<int64_t>(cores.size()), memory_mb, static_cast<int64_t>(gpus.size())},
      own_cores_(cores),
      own_gpus_(gpus),
      cores_(std::move(cores)),
      gpus_(std::move(gpus)),
      memory_mb_(memory_mb),
      processes_of_core_(processes_of_core) {}

Slots Slots::of_host() {
  return {allowed_cores(), host_memory_mb(), host_gpus()};
}

Slots Slots::of_text(const std::string& text) {
  std::vector<int> cores = allowed_cores(), gpus = host_gpus();
  int64_t memory_mb = host_memory_mb(), processes_of_core = kProcessesOfCore;
  for (size_t from = 0; from < text.size();) {
    const size_t comma = std::min(text.find(',', from), text.size());
    const std::string part = text.substr(from, comma - from);
    from = comma + 1;
    const size_t equals = std::min(part.find('='), part.size());
    const std::string name = part.substr(0, equals);
    const int64_t number = equals < part.size() ? number_of(part.substr(equals + 1), text) : -1;
    if (name == "cores" && number >= 0)
      cores.resize(std::min<size_t>(cores.size(), static_cast<size_t>(number)));
    else if (name == "gpus" && number >= 0)
      gpus.resize(std::min<size_t>(gpus.size(), static_cast<size_t>(number)));
    else if (name == "memory" && number >= 0)
      memory_mb = std::min(memory_mb, number);
    else if (name == "processes" && number > 0)
      processes_of_core = number;
    else
      throw user_error(fmt::format(
          "[slots] '{}' in '{}'; known are cores=N, memory=N (M or G), gpus=N, processes=N (for each core, from 1)",
          part, text));
  }
  return {cores, memory_mb, gpus, processes_of_core};
}

Demand Slots::free() const {
  return {static_cast<int64_t>(cores_.size()), memory_mb_, static_cast<int64_t>(gpus_.size())};
}

std::optional<Limits> Slots::take(const Demand& wanted) {
  const Demand now = free();
  if (wanted.cores > now.cores || wanted.memory_mb > now.memory_mb || wanted.gpus > now.gpus) return std::nullopt;
  Limits limits;
  limits.memory_mb = wanted.memory_mb;
  limits.cores.assign(cores_.begin(), cores_.begin() + wanted.cores);
  limits.memory_together_mb = wanted.memory_mb > 0 ? wanted.memory_mb : all_.memory_mb;
  limits.processes = std::max<int64_t>(1, wanted.cores) * processes_of_core_;
  limits.gpus.assign(gpus_.begin(), gpus_.begin() + wanted.gpus);
  retake(limits, wanted);
  return limits;
}

void Slots::retake(const Limits& limits, const Demand& wanted) {
  remove(cores_, limits.cores);
  remove(gpus_, limits.gpus);
  memory_mb_ -= wanted.memory_mb;
}

void Slots::give_back(const Limits& limits, const Demand& wanted) {
  add(cores_, limits.cores, own_cores_);
  add(gpus_, limits.gpus, own_gpus_);
  memory_mb_ += wanted.memory_mb;
}

}  // namespace linac::launch
