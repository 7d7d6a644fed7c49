#include "linac/train/exchange/compute.h"

#include <algorithm>

#include "linac/base/log.h"
#include "linac/models/torch_threads.h"

namespace linac::train {

ReplicaCompute::ReplicaCompute(const spec::Job& job, int concurrency)
    : job_(job), pool_(concurrency, [threads = job.train.threads] { models::use_threads(threads); }) {}

void ReplicaCompute::fill(size_t index, const ReplicaFunction& compute, const Wishes& wishes, Message& message,
                          ReplicaProgress& progress) const {
  try {
    bool told = false;
    const auto ready = [&](int64_t offset, std::span<const float> values) {
      told = true;
      std::copy(values.begin(), values.end(), message.gradient().begin() + offset);
      progress.told(index, offset, values.size());
    };
    const models::Contribution contribution = compute(index, ready);
    Wishes here = wishes;
    here.leave = wishes.leave && index == 0;  // counted once a worker
    message.fill(contribution, told, job_.train.replicas, here);
    progress.finished(index);
  } catch (...) {
    progress.failed(index);
    throw;
  }
}

void ReplicaCompute::begin(const ReplicaFunction& compute, const SideWork& side, const Wishes& wishes,
                           std::vector<Message>& messages, ReplicaProgress& progress) {
  pool_.begin(static_cast<int>(messages.size() + side.tasks),
              [this, &compute, &side, wishes, &messages, &progress](int i) {
                const auto index = static_cast<size_t>(i);
                if (index < messages.size()) return fill(index, compute, wishes, messages[index], progress);
                side.run(index - messages.size());
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
  pool_.run(static_cast<int>(tasks), [&](int i) { task(static_cast<size_t>(i)); });
}

}  // namespace linac::train
