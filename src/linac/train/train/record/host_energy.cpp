#include "linac/train/train/record/host_energy.h"

#include <cstdlib>

#include "linac/base/base/clock.h"

namespace linac::train {
namespace {

constexpr auto kReadInLongSteps = std::chrono::seconds(10);
constexpr auto kIdle = std::chrono::milliseconds(500);
constexpr double kReadEvery_s = 1;
static_assert(std::chrono::duration<double>(kReadInLongSteps).count() < energy::EnergyMeter::kReadEvery_s);

}  // namespace

HostEnergy::HostEnergy(const std::vector<int>& gpus, double model_w, std::filesystem::path sys,
                       const energy::GpuMeter& meter)
    : from_(static_cast<double>(now_ms()) / 1000),
      meter_(meter, energy::gpu_numbers(gpus, std::getenv("CUDA_VISIBLE_DEVICES")), model_w, std::move(sys)) {
  read_locked();
  if (meter_.use().measured_j.empty()) return;
  // A counter must be read before it has gone round, however long a step takes.
  thread_ = std::thread([this] {
    std::unique_lock lock(mutex_);
    while (!over_.wait_for(lock, kReadInLongSteps, [this] { return is_over_; })) read_locked();
  });
}

HostEnergy::~HostEnergy() {
  {
    const std::lock_guard lock(mutex_);
    is_over_ = true;
  }
  over_.notify_one();
  if (thread_.joinable()) thread_.join();
}

void HostEnergy::read() {
  const std::lock_guard lock(mutex_);
  read_locked();
}

void HostEnergy::read_locked() {
  read_at_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  meter_.read(read_at_s_);
}

void HostEnergy::look_at_idle() {
  {
    const std::lock_guard lock(mutex_);
    read_locked();
    if (meter_.use().measured_j.empty()) return;
    meter_.begin_idle();
  }
  std::this_thread::sleep_for(kIdle);
  const std::lock_guard lock(mutex_);
  read_locked();
  meter_.end_idle();
}

job::ToldEnergy HostEnergy::told() {
  const std::lock_guard lock(mutex_);
  if (std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count() - read_at_s_ >= kReadEvery_s)
    read_locked();
  const energy::Use use = meter_.use();
  job::ToldEnergy told;
  told.machine = energy::machine_name();
  told.method = use.method;
  told.from = from_;
  told.seconds = use.seconds;
  told.joules = use.measured_j;
  told.idle_w = use.idle_w;
  told.model_j = use.has_processors || use.has_gpus ? 0 : use.joules;
  return told;
}

}  // namespace linac::train
