#include "linac/train/train/exchange/replica_update.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/trace.h"
#include "linac/train/train/exchange/apply.h"

namespace linac::train {
namespace {

std::string pieces_in_short(const job::Train& train) {
  return train.split.parts() > 1 ? fmt::format("{} parts of replicas", train.pieces())
                                 : fmt::format("{} replicas", train.replicas);
}

// While it lives.
class WaitsNoted {
 public:
  WaitsNoted(comm::Group& group, std::vector<comm::Group::Wait>& waits) : group_(group) { group.note_waits(&waits); }
  ~WaitsNoted() { group_.note_waits(nullptr); }
  WaitsNoted(const WaitsNoted&) = delete;
  WaitsNoted& operator=(const WaitsNoted&) = delete;

 private:
  comm::Group& group_;
};

}  // namespace

ReplicaUpdate::ReplicaUpdate(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock,
                             MakeExchange exchange)
    : job_(job),
      group_(group),
      devices_(computing.devices ? std::optional<ReplicaDevices>(std::in_place, computing.devices) : std::nullopt),
      teams_(job, group),
      // All parts of a replica that are here wait for each other.
      compute_(job, std::max(computing.replicas_at_a_time, teams_.parts()), devices_ ? &*devices_ : nullptr),
      exchange_((exchange != nullptr ? exchange : exchange_named(job.train.sync.mode))(
          {job, group, devices_ ? &*devices_ : nullptr, computing.islands.get()})),
      fault_(job.train.audit.fault),
      clock_(clock) {
  if (devices_ && job.train.audit.rate > 0)
    throw user_error(
        "[train] train.audit compares what the host's memory holds of a replica, and a worker with several devices "
        "leaves it there: set train.audit.rate = 0, or distribution.devices_per_worker = 1");
}

void ReplicaUpdate::take_place(const TrainState& state) {
  exchange_->take_place();
  exchange_->restore(state.exchange);
  teams_.take_place();
  if (devices_)
    devices_->take_place(comm::replicas_of(group_.view(), group_.rank(), job_.train.replicas), job_.train.replicas);
}

RngKey ReplicaUpdate::key(const TrainState& state, int replica, int ahead) const {
  constexpr uint64_t kStride = 0x9E3779B97F4A7C15;  // 2^64 / golden ratio
  return {.seed = job_.train.seed + static_cast<uint64_t>(state.rollbacks) * kStride,
          .epoch = static_cast<uint32_t>(state.epoch),
          .step = static_cast<uint32_t>(state.step + ahead),
          .replica = static_cast<uint32_t>(replica)};
}

std::vector<int> ReplicaUpdate::owned_replicas() const {
  std::vector<int> replicas;
  for (const int piece : owned())
    if (replicas.empty() || replicas.back() != replica_of(piece)) replicas.push_back(replica_of(piece));
  return replicas;
}

size_t ReplicaUpdate::replica_index(size_t piece_index) const {
  const int replica = replica_of(owned()[piece_index]), first = replica_of(owned().front());
  return static_cast<size_t>(replica - first);
}

template <class Work>
auto ReplicaUpdate::of_piece(int piece, const Work& work) {
  try {
    return work();
  } catch (const std::exception& error) {
    teams_.give_up(piece, error.what());
    throw;
  }
}

void ReplicaUpdate::sum_chunks(int64_t chunks, const ChunkShare& share, std::span<float> total) {
  std::vector<AlignedFloats> messages(owned().size());
  teams_.begin();
  compute_.run(messages.size(), [&](size_t index) {
    const int piece = owned()[index];
    group_.mark("test, replica", replica_of(piece));
    std::vector<int64_t> mine;
    for (int64_t chunk = replica_of(piece); chunk < chunks; chunk += job_.train.replicas) mine.push_back(chunk);
    messages[index] = of_piece(piece, [&] { return share(mine, teams_.link(piece)); });
  });
  exchange_->sum(messages, total);
}

ReplicaUpdate::Messages& ReplicaUpdate::messages_of(size_t network, const graph::Parameters& parameters,
                                                    size_t losses) {
  Messages& there = messages_[network];
  if (there.parts.size() != owned().size() || !there.total.fits(parameters, losses)) {
    there.total = Message(parameters, losses);
    there.parts.assign(owned().size(), there.total);
  }
  return there;
}

bool ReplicaUpdate::run(const std::string& prefix, const std::vector<std::string>& losses, TrainState& state,
                        size_t number, double learning_rate, const ReplicaFunction& compute, StepWish wish,
                        StepResult& result, const SideWork& side, const std::function<void()>& before_change,
                        const AnyReplica& again) {
  fault_.strike(group_.view(), group_.rank(), state, number);
  Network& network = state.networks[number];
  const trace::Span span("update", -1,
                         prefix.empty() ? network.name : std::string_view(prefix).substr(0, prefix.size() - 1));
  auto& [messages, total] = messages_of(number, network.parameters, losses.size());
  const std::vector<Bucket> buckets = exchange_->cut(network.parameters, total);
  const auto auditors = auditors_of(job_.train.audit.rate, key(state, 0), group_.view(), job_.train.replicas);
  const bool spoiled = is_due(Fault::Place::kActivation, state) || is_due(Fault::Place::kGradient, state);
  const graph::Layout& layout = network.parameters.trainable_layout;
  const AnyReplica any = [&](int replica) {
    if (!spoiled) return again(replica);
    return fault_.spoiled(layout, key(state, replica), [&] { return again(replica); });
  };
  AuditedUpdate audited(group_, network.parameters, owned(), auditors, any);
  const SideWork beside = audited.beside(side);
  ReplicaProgress progress(layout, buckets, messages.size(), beside.tasks);
  const Wishes wishes{.stop = wish == StepWish::kStop,
                      .leave = wish == StepWish::kLeave,
                      .save = wish == StepWish::kSave,
                      .enough = wish == StepWish::kEnough,
                      .next_view = group_.wants_next_view()};
  Moments at;
  at.begin = PhaseClock::now();
  if (devices_) devices_->begin(state, number);
  teams_.begin();
  const ReplicaFunction watched = audited.watched([&](size_t index, const graph::GradientReady& ready) {
    const trace::Span of_replica("replica", owned()[index]);
    if (!spoiled) return of_piece(owned()[index], [&] { return compute(index, ready); });
    return fault_.spoiled(layout, key(state, owned()[index]), [&] { return compute(index, {}); });
  });
  compute_.begin(watched, beside, wishes, messages, progress);
  bool applied = false, disputed = false;
  std::vector<comm::Group::Wait> waits;
  const WaitsNoted noted(group_, waits);
  try {
    exchange_->sum(buckets, messages, progress, total);
    if (is_due(Fault::Place::kMessage, state)) turn_a_bit(layout, total.gradient(), key(state, 0));
    disputed = !progress.has_failed() && audited.is_disputed(total.values);
    at.summed = PhaseClock::now();
    applied =
        !progress.has_failed() && !disputed &&
        apply_update(total, prefix, losses, pieces_in_short(job_.train), learning_rate, network, result, before_change);
    if (applied) state.exchange = exchange_->state();
    at.updated = PhaseClock::now();
  } catch (...) {
    audited.give_up();
    compute_.break_off(progress);
    throw;
  }
  compute_.end();
  if (disputed) {
    result.health = Health::kWrong;
    result.finding = audited.decide(compute_);
    result.finding->clean_step = clean_step_;
  } else if (auditors) {
    clean_step_ = state.global_step;
    result.finding.emplace().clean_step = clean_step_;
  }
  at.computed = *progress.computed();
  account(at);
  account_step(at, waits, state, number, side);
  // For bench/network.py, which lays hosts of one clock beside each other.
  log::debug(
      fmt::format("[train] update {} last gradient {:.6f} sum {:.6f}", prefix, at.computed.wall, at.summed.wall));
  return applied;
}

UpdateOutline ReplicaUpdate::outline(const std::string& phase, const TrainState& state, size_t network, size_t losses,
                                     bool leaves_early) const {
  const graph::Parameters& parameters = state.networks[network].parameters;
  UpdateOutline outline{.phase = phase, .network = network, .parts = {}, .leaves_early = leaves_early};
  const std::vector<Bucket> buckets = exchange_->cut(parameters, Message(parameters, losses));
  for (const Bucket& bucket : buckets)
    outline.parts.push_back({bucket.begin, exchange_->bytes(bucket, &bucket == &buckets.back())});
  return outline;
}

// Computing goes on beside communication and update; what of these it does not cover is theirs.
void ReplicaUpdate::account(const Moments& at) {
  if (at.computed.wall <= at.summed.wall) {
    clock_.add(TimePhase::kCompute, at.begin, at.computed);
    clock_.add(TimePhase::kCommunication, at.computed, at.summed);
  } else {
    clock_.add(TimePhase::kCompute, at.begin, at.summed);
  }
  clock_.add(TimePhase::kUpdate, at.summed, at.updated);
  if (at.computed.wall > at.updated.wall) clock_.add(TimePhase::kCompute, at.updated, at.computed);
}

// The same seconds, told apart by network and pass. All threads compute side by side: their seconds say the shares.
void ReplicaUpdate::account_step(const Moments& at, const std::vector<comm::Group::Wait>& waits,
                                 const TrainState& state, size_t network, const SideWork& side) {
  const double computed_s =
      std::min(at.computed.wall, at.summed.wall) - at.begin.wall + std::max(0.0, at.computed.wall - at.updated.wall);
  const std::vector<ReplicaCompute::TaskTime>& times = compute_.times();
  double thread_s = 0;
  for (const auto& time : times) thread_s += time.seconds;
  const double share = thread_s > 0 ? computed_s / thread_s : 0;
  for (size_t i = 0; i < times.size(); ++i) {
    const bool beside = i >= times.size() - side.tasks;
    job::NetworkTime& of = clock_.steps().of(state.networks[beside ? side.network : network].name);
    of.forward_s += share * (times[i].seconds - times[i].backward_s);
    of.backward_s += share * times[i].backward_s;
  }
  const double exposed_s = std::max(0.0, at.summed.wall - at.computed.wall);
  double idle_s = 0;
  for (const comm::Group::Wait& wait : waits)
    idle_s += std::max(0.0, wait.end_s - std::max(wait.begin_s, at.computed.wall));
  job::NetworkTime& of = clock_.steps().of(state.networks[network].name);
  of.idle_s += std::min(idle_s, exposed_s);
  of.sum_s += exposed_s - std::min(idle_s, exposed_s);
  of.update_s += at.updated.wall - at.summed.wall;
}

}  // namespace linac::train
