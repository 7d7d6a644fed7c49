#include "linac/train/replica_update.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/log.h"
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

  // Of a gradient that was told, parts are sums by now.
  void fill(const models::Contribution& contribution, bool gradient_told, int replicas, bool stop_wanted,
            bool next_view_wanted) {
    LINAC_CHECK(contribution.losses.size() == losses_size);
    if (!gradient_told) std::copy(contribution.gradient.begin(), contribution.gradient.end(), gradient().begin());
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

RngKey ReplicaUpdate::key(const TrainState& state, int replica, int ahead) const {
  constexpr uint64_t kStride = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  return {.seed = job_.train.seed + static_cast<uint64_t>(state.rollbacks) * kStride,
          .epoch = static_cast<uint32_t>(state.epoch),
          .step = static_cast<uint32_t>(state.step + ahead),
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

void ReplicaUpdate::compute_replica(size_t index, const ReplicaFunction& compute, bool stop_wanted,
                                    bool next_view_wanted, Message& message, Progress& progress) const {
  try {
    bool told = false;
    const auto ready = [&](int64_t offset, std::span<const float> values) {
      told = true;
      std::copy(values.begin(), values.end(), message.gradient().begin() + offset);
      progress.told(index, offset, values.size());
    };
    const models::Contribution contribution = compute(index, ready);
    message.fill(contribution, told, job_.train.replicas, stop_wanted, next_view_wanted);
    progress.finished(index);
  } catch (...) {
    progress.failed(index);
    throw;
  }
}

// A bucket travels as soon as all replicas of this worker have it.
void ReplicaUpdate::sum_buckets(const std::vector<Bucket>& buckets, std::vector<Message>& messages, Progress& progress,
                                Message& total) {
  // Said only where there is news: a replica that hangs is noticed by the silence.
  const auto further = [&](size_t index) { group_.mark("compute, replica", owned_[index]); };
  const auto now_and_then = [&] {
    if (group_.leaving()) throw Error(ErrorCode::kPeerLost, "[train] the view is being left");
  };
  for (size_t b = 0; b < buckets.size() && progress.wait_for(b, further, now_and_then); ++b) {
    std::vector<std::span<float>> parts;
    for (Message& message : messages)
      parts.push_back(std::span(message.values).subspan(buckets[b].begin, buckets[b].size));
    // Losses, statistics and flags are never rounded.
    const bool rounded = job_.train.exchange == "bf16" && b + 1 < buckets.size();
    sum_->reduce(parts, std::span(total.values).subspan(buckets[b].begin, buckets[b].size),
                 rounded ? comm::Exchange::kBfloat16 : comm::Exchange::kFloat);
  }
  group_.mark("compute ahead");
}

bool ReplicaUpdate::apply(const std::string& prefix, const std::vector<std::string>& losses, Message& total,
                          Network& network, double learning_rate, StepResult& result) const {
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
  network.optimizer.step(network.parameters.trainable, total.gradient(), learning_rate);
  graph::enforce(network.constraints, network.parameters.trainable);
  auto& running = network.parameters.statistics;
  for (size_t i = 0; i < running.size(); ++i)
    running[i] = network.update.kept[i] * running[i] + network.update.added[i] * total.statistics()[i];
  return true;
}

bool ReplicaUpdate::run(const std::string& prefix, const std::vector<std::string>& losses, Network& network,
                        double learning_rate, const ReplicaFunction& compute, bool stop_wanted, StepResult& result,
                        const SideWork& side) {
  std::vector<Message> messages(owned_.size(), Message(network.parameters, losses.size()));
  Message total(network.parameters, losses.size());
  const graph::Layout& layout = network.parameters.trainable_layout;
  const std::vector<Bucket> buckets = make_buckets(layout, total.values.size() - total.gradient_size);
  Progress progress(layout, buckets, owned_.size(), side.tasks);
  const bool next_view_wanted = group_.wants_next_view();
  const PhaseClock::Seconds begin = PhaseClock::now();
  pool_.begin(static_cast<int>(owned_.size() + side.tasks), [&](int i) {
    const auto index = static_cast<size_t>(i);
    if (index < owned_.size())
      return compute_replica(index, compute, stop_wanted, next_view_wanted, messages[index], progress);
    side.run(index - owned_.size());
    progress.side_task_finished();
  });
  bool applied = false;
  PhaseClock::Seconds summed, updated;
  try {
    sum_buckets(buckets, messages, progress, total);
    summed = PhaseClock::now();
    applied = !progress.has_failed() && apply(prefix, losses, total, network, learning_rate, result);
    updated = PhaseClock::now();
  } catch (...) {
    progress.break_off();
    try {
      pool_.wait();
    } catch (const std::exception& error) {
      log::debug(error.what());  // the first one counts
    }
    throw;
  }
  pool_.wait();
  account(begin, summed, updated, *progress.computed());
  return applied;
}

// Computing goes on beside communication and update; what of these it does not cover is theirs.
void ReplicaUpdate::account(const PhaseClock::Seconds& begin, const PhaseClock::Seconds& summed,
                            const PhaseClock::Seconds& updated, const PhaseClock::Seconds& computed) {
  if (computed.wall <= summed.wall) {
    clock_.add(TimePhase::kCompute, begin, computed);
    clock_.add(TimePhase::kCommunication, computed, summed);
  } else {
    clock_.add(TimePhase::kCompute, begin, summed);
  }
  clock_.add(TimePhase::kUpdate, summed, updated);
  if (computed.wall > updated.wall) clock_.add(TimePhase::kCompute, updated, computed);
}

}  // namespace linac::train
