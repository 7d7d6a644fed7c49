#include "linac/train/train/exchange/compute.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "linac/base/base/log.h"
#include "linac/base/base/trace.h"
#include "linac/model/graph/backward_time.h"
#include "linac/model/models/torch_threads.h"

namespace linac::train {
namespace {

// While it lives, the calling thread's time is the task's.
class TimeTaken {
 public:
  explicit TimeTaken(ReplicaCompute::TaskTime& time) : time_(time) {}
  ~TimeTaken() {
    time_ = {std::chrono::duration<double>(Clock::now() - begin_).count(),
             graph::BackwardTime::of_thread() - backward_begin_};
  }
  TimeTaken(const TimeTaken&) = delete;
  TimeTaken& operator=(const TimeTaken&) = delete;

 private:
  using Clock = std::chrono::steady_clock;
  ReplicaCompute::TaskTime& time_;
  const Clock::time_point begin_ = Clock::now();
  const double backward_begin_ = graph::BackwardTime::of_thread();
};

}  // namespace

ReplicaCompute::ReplicaCompute(const job::Job& job, int concurrency, ReplicaDevices* devices)
    : job_(job), devices_(devices), pool_(concurrency, [threads = job.train.threads] {
        trace::name_thread("replicas");
        models::use_threads(threads);
      }) {}

void ReplicaCompute::fill(size_t index, const ReplicaFunction& compute, const Wishes& wishes, Message& message,
                          ReplicaProgress& progress) const {
  try {
    bool told = false;
    const auto ready = [&](int64_t offset, std::span<const float> values) {
      // What no pass comes upon is 0.
      if (!std::exchange(told, true) && devices_ == nullptr) std::ranges::fill(message.gradient(), 0.0F);
      if (devices_ != nullptr)
        devices_->sum().take(index, static_cast<size_t>(offset), values);
      else
        std::copy(values.begin(), values.end(), message.gradient().begin() + offset);
      progress.told(index, offset, values.size());
    };
    const models::Contribution contribution = compute(index, ready);
    Wishes here = wishes;
    here.leave = wishes.leave && index == 0;  // counted once a worker
    if (devices_ != nullptr && !told) devices_->sum().take(index, 0, contribution.gradient);
    message.fill(contribution, told || devices_ != nullptr, job_.train.replicas, here);
    progress.finished(index);
  } catch (...) {
    progress.failed(index);
    throw;
  }
}

void ReplicaCompute::begin(const ReplicaFunction& compute, const SideWork& side, const Wishes& wishes,
                           std::vector<Message>& messages, ReplicaProgress& progress) {
  const size_t replicas = messages.size();
  const auto place = [devices = devices_](size_t i, size_t count) {
    return devices != nullptr ? devices->place_in_update(i, count) : graph::Place{};
  };
  const auto order = devices_ != nullptr ? devices_->order(replicas) : std::vector<size_t>{};
  times_.assign(replicas + side.tasks, {});
  pool_.begin(static_cast<int>(replicas + side.tasks),
              [this, &compute, &side, wishes, &messages, &progress, replicas, place, order](int task) {
                const auto i = static_cast<size_t>(task);
                const TimeTaken time(times_[i]);
                if (i < replicas) {
                  const size_t index = order.empty() ? i : order[i];
                  const graph::AtPlace there(place(index, replicas));
                  return fill(index, compute, wishes, messages[index], progress);
                }
                const trace::Span span("computed ahead");
                const graph::AtPlace there(place(i - replicas, side.tasks));
                side.run(i - replicas);
                progress.side_task_finished();
              });
}

void ReplicaCompute::end() {
  pool_.wait();
}

void ReplicaCompute::break_off(ReplicaProgress& progress) {
  progress.break_off();
  try {
    pool_.wait();
  } catch (const std::exception& error) {
    log::debug(error.what());  // the first one counts
  }
}

void ReplicaCompute::run(size_t tasks, const std::function<void(size_t task)>& task) {
  pool_.run(static_cast<int>(tasks), [&](int i) {
    const graph::AtPlace there(devices_ != nullptr ? devices_->place(static_cast<size_t>(i), tasks) : graph::Place{});
    task(static_cast<size_t>(i));
  });
}

}  // namespace linac::train
