#include "linac/train/replica_update.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/models/torch_threads.h"

namespace linac::train {

// The one message of an update: everything its workers must agree on, added up over the replicas.
struct ReplicaUpdate::Message {
  enum Flag : size_t { kEmptyReplicas, kBrokenReplicas, kStopWanted, kNextViewWanted, kFlags };

  Message(const graph::Parameters& parameters, size_t losses)
      : gradient_size(parameters.trainable.size()),
        statistics_size(parameters.statistics.size()),
        losses_size(losses),
        values(gradient_size + statistics_size + losses_size + kFlags) {}

  std::span<float> gradient() { return std::span(values).first(gradient_size); }
  std::span<float> statistics() { return std::span(values).subspan(gradient_size, statistics_size); }
  std::span<float> losses() { return std::span(values).subspan(gradient_size + statistics_size, losses_size); }
  float& flag(Flag which) { return values[gradient_size + statistics_size + losses_size + which]; }

  void fill(const models::Contribution& contribution, int replicas, bool stop_wanted, bool next_view_wanted) {
    LINAC_CHECK(contribution.losses.size() == losses_size);
    std::copy(contribution.gradient.begin(), contribution.gradient.end(), gradient().begin());
    std::transform(contribution.statistics.begin(), contribution.statistics.end(), statistics().begin(),
                   [&](float value) { return value / static_cast<float>(replicas); });
    std::copy(contribution.losses.begin(), contribution.losses.end(), losses().begin());
    flag(kEmptyReplicas) = contribution.all_empty ? 1 : 0;
    flag(kBrokenReplicas) = contribution.finite ? 0 : 1;
    flag(kStopWanted) = stop_wanted ? 1 : 0;
    flag(kNextViewWanted) = next_view_wanted ? 1 : 0;
  }

  size_t gradient_size, statistics_size, losses_size;
  AlignedFloats values;
};

ReplicaUpdate::ReplicaUpdate(const spec::Job& job, comm::Group& group, int concurrency, PhaseClock& clock)
    : job_(job),
      group_(group),
      pool_(concurrency, [threads = job.train.threads] { models::use_threads(threads); }),
      clock_(clock) {}

void ReplicaUpdate::take_place() {
  owned_ = comm::owned_replicas(job_.train.replicas, group_.view(), group_.rank());
  sum_.emplace(group_, job_.train.replicas);
}

RngKey ReplicaUpdate::key(const TrainState& state, int replica) const {
  constexpr uint64_t kStride = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  return {.seed = job_.train.seed + static_cast<uint64_t>(state.rollbacks) * kStride,
          .epoch = static_cast<uint32_t>(state.epoch),
          .step = static_cast<uint32_t>(state.step),
          .replica = static_cast<uint32_t>(replica)};
}

void ReplicaUpdate::sum_chunks(int64_t chunks, const std::function<AlignedFloats(std::span<const int64_t>)>& share,
                               std::span<float> total) {
  std::vector<AlignedFloats> messages(owned_.size());
  pool_.run(static_cast<int>(owned_.size()), [&](int i) {
    const auto index = static_cast<size_t>(i);
    group_.mark("test, replica", owned_[index]);
    std::vector<int64_t> mine;
    for (int64_t chunk = owned_[index]; chunk < chunks; chunk += job_.train.replicas) mine.push_back(chunk);
    messages[index] = share(mine);
  });
  std::vector<std::span<float>> spans(messages.begin(), messages.end());
  sum_->reduce(spans, total);
}

bool ReplicaUpdate::run(const std::string& prefix, const std::vector<std::string>& losses, Network& network,
                        double learning_rate, const ReplicaFunction& compute, bool stop_wanted, StepResult& result) {
  std::vector<Message> messages(owned_.size(), Message(network.parameters, losses.size()));
  const bool next_view_wanted = group_.wants_next_view();
  {
    const PhaseClock::Scope time(clock_, TimePhase::kCompute);
    pool_.run(static_cast<int>(owned_.size()), [&](int i) {
      const auto index = static_cast<size_t>(i);
      group_.mark("compute, replica", owned_[index]);
      messages[index].fill(compute(index), job_.train.replicas, stop_wanted, next_view_wanted);
    });
  }
  Message total(network.parameters, losses.size());
  {
    const PhaseClock::Scope time(clock_, TimePhase::kCommunication);
    std::vector<std::span<float>> buffers;
    for (Message& message : messages) buffers.emplace_back(message.values);
    sum_->reduce(buffers, total.values);
  }
  result.stop_requested = result.stop_requested || total.flag(Message::kStopWanted) > 0;
  result.next_view_wanted = result.next_view_wanted || total.flag(Message::kNextViewWanted) > 0;
  for (size_t i = 0; i < losses.size(); ++i) result.losses[prefix + losses[i]] = total.losses()[i];
  if (total.flag(Message::kBrokenReplicas) > 0 || total.flag(Message::kEmptyReplicas) > 0) {
    const bool broken = total.flag(Message::kBrokenReplicas) > 0;
    result.health = broken ? Health::kNotFinite : Health::kEmpty;
    result.where =
        fmt::format("{}on {:.0f} of {} replicas", prefix.empty() ? "" : prefix.substr(0, prefix.size() - 1) + " ",
                    total.flag(broken ? Message::kBrokenReplicas : Message::kEmptyReplicas), job_.train.replicas);
    return false;
  }
  const PhaseClock::Scope time(clock_, TimePhase::kUpdate);
  network.optimizer.step(network.parameters.trainable, total.gradient(), learning_rate);
  auto& running = network.parameters.statistics;
  for (size_t i = 0; i < running.size(); ++i)
    running[i] = network.update.kept[i] * running[i] + network.update.added[i] * total.statistics()[i];
  return true;
}

}  // namespace linac::train
