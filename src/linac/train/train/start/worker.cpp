#include "linac/train/train/start/worker.h"

#include <fmt/format.h>
#include <poll.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <cstring>
#include <future>
#include <memory>
#include <thread>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/signals.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/comm/c10d/c10d_store.h"
#include "linac/train/devices/gpus_of_worker.h"
#include "linac/train/devices/host_device_group.h"
#include "linac/train/train/input/input.h"
#include "linac/train/workers/worker_error.h"

namespace linac::train {
namespace {

int replicas_side_by_side(const job::Job& job, const comm::Rendezvous& rendezvous) {
  return std::clamp(comm::cores_of_worker(rendezvous, read_cores()) / job.train.threads, 1, job.train.pieces());
}

// The device of the process, or several as a group.
Computing computing(const job::Job& job, const comm::Rendezvous& rendezvous) {
  const models::Device device = numerics_of(job).device;
  const int replicas = replicas_side_by_side(job, rendezvous);
  if (device == models::Device::kCpu) {
    models::need_device(device);
    const int emulated = comm::emulated_devices();
    if (emulated == 0) return replicas;
    return {replicas, std::make_shared<devices::HostDeviceGroup>(emulated)};
  }
  models::need_device(device);  // or there is nothing to divide
  const std::vector<int> gpus =
      devices::gpus_of_worker(models::devices_there(device), rendezvous.local_rank, rendezvous.local_world_size,
                              job.distribution.devices_per_worker);
  models::need_device(device, gpus.front());
  if (gpus.size() == 1) return {replicas, nullptr, gpus};
  // A thread of the host for each, or it would wait for its turn.
  return {std::clamp(static_cast<int>(gpus.size()), replicas, std::max(replicas, job.train.replicas)),
          devices::make_nccl_group(gpus), gpus};
}

// The log lies in the run's folder, whose disk may be what hangs: the launcher is told first, and the log has a moment.
[[noreturn]] void end_at_once(const Error& error) {
  constexpr auto kLogTime = std::chrono::milliseconds(500);
  launch::report_worker_error(error);
  auto written = std::make_shared<std::promise<void>>();
  std::thread([text = std::string(error.what()), written] {
    log::error(text);
    written->set_value();
  }).detach();
  if (written->get_future().wait_for(kLogTime) != std::future_status::ready) {
    const std::string text = std::string("linac: ") + error.what() + "\n";
    pollfd ready{STDERR_FILENO, POLLOUT, 0};
    if (poll(&ready, 1, 0) == 1) [[maybe_unused]]
      const auto said = write(STDERR_FILENO, text.data(), text.size());
  }
  _exit(static_cast<int>(error.code()));  // what hangs cannot be ended in an orderly way
}

// Ends a process that is asked to stop before it trains: it may wait for others, for a disk or a library, and has
// nothing to save.
class StopAtStart {
 public:
  StopAtStart() : thread_([this] { watch(); }) {}
  ~StopAtStart() {
    over();
    thread_.join();
  }
  StopAtStart(const StopAtStart&) = delete;
  StopAtStart& operator=(const StopAtStart&) = delete;

  void over() { is_over_ = true; }

 private:
  void watch() {
    constexpr auto kLook = std::chrono::milliseconds(20), kInOrder = std::chrono::milliseconds(200);
    while (!is_over_ && stop_signal() == 0) std::this_thread::sleep_for(kLook);
    if (is_over_) return;
    std::this_thread::sleep_for(kInOrder);
    if (is_over_.exchange(true)) return;
    end_at_once({ErrorCode::kPreempted,
                 fmt::format("[train] stopped by a signal ({}) before the training began; the same command begins anew",
                             strsignal(stop_signal()))});
  }

  std::atomic<bool> is_over_ = false;
  std::thread thread_;
};

comm::GroupSettings group_settings(const job::Job& job, const Worker& worker) {
  const auto milliseconds = [](double seconds) { return std::chrono::milliseconds(std::llround(1000 * seconds)); };
  const bool local = job.train.sync.is_apart();
  return {.stall_timeout = milliseconds(job.distribution.stall_timeout_s),
          .members_min = job.distribution.workers_min,
          .replicas = job.distribution.balance || local ? job.train.pieces() : 0,
          .pack = local ? job.train.replicas / job.train.sync.groups : 0,
          .open = !worker.listen.empty(),
          .listen = worker.listen,
          .join_addresses = worker.join_addresses,
          .folder = worker.options.folder,
          .on_hang = end_at_once};
}

}  // namespace

void work(Worker worker, trained::CompiledJob whole, const comm::Rendezvous& rendezvous) {
  const job::Job& job = whole.job;
  catch_stop_signals();
  StopAtStart stop;
  worker.options.on_begin = [&stop] { stop.over(); };
  worker.options.computing = computing(job, rendezvous);
  if (const auto& devices = worker.options.computing.devices) log::info("[devices] " + devices->describe());
  models::use_threads(job.train.threads);
  const auto group = comm::make_group(rendezvous, group_settings(job, worker));
  run_training(job, *group, worker.options, std::move(whole.file));
}

}  // namespace linac::train
