#pragma once
// One update of one network from the contributions of all replicas, in three parts of which each has its own header:
//
//   compute   the replicas of this worker, side by side on threads               exchange/compute.h
//   exchange  their messages and those of the other workers become one sum,      exchange/exchange.h
//             bucket by bucket while the rest is still computed
//   apply     the sum changes the network, alike everywhere                      exchange/apply.h
//
// They share the message (exchange/message.h) and the account of what of it is there (exchange/progress.h). Here they
// are put together, and their times told apart; and sums of what the replicas find in a test. Used from one thread.

#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/audit/audited_update.h"
#include "linac/train/train/audit/draw.h"
#include "linac/train/train/audit/fault.h"
#include "linac/train/train/audit/reading.h"
#include "linac/train/train/exchange/compute.h"
#include "linac/train/train/exchange/exchange.h"
#include "linac/train/train/exchange/message.h"
#include "linac/train/train/exchange/part_teams.h"
#include "linac/train/train/exchange/replica_devices.h"
#include "linac/train/train/loops/computing.h"
#include "linac/train/train/loops/loop_steps.h"

namespace linac::train {

class ReplicaUpdate {
 public:
  /// Borrows all. `exchange`: in place of the rule that the job names.
  ReplicaUpdate(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock,
                MakeExchange exchange = nullptr);

  /// Takes the replicas over that this worker carries in the group's view, and goes on from state.exchange. Before the
  /// first use, in each new view, and whenever the state has become another one.
  void take_place(const TrainState& state);

  /// Collective. Of state.networks[network], and state.exchange with it. `losses`: the names of Contribution::losses;
  /// with `prefix` they are the names in `result`. False (and why, in `result`) if the network was left as it was.
  /// `before_change` is called when nothing but the change itself is left; what it throws leaves the network as it was.
  /// `again` gives of any replica what `compute` does: with train.audit some updates are audited by it.
  bool run(const std::string& prefix, const std::vector<std::string>& losses, TrainState& state, size_t network,
           double learning_rate, const ReplicaFunction& compute, StepWish wish, StepResult& result,
           const SideWork& side = {}, const std::function<void()>& before_change = {}, const AnyReplica& again = {});

  /// Of such an update of state.networks[network] with as many losses.
  UpdateOutline outline(const std::string& phase, const TrainState& state, size_t network, size_t losses,
                        bool leaves_early) const;

  /// Collective. Replica r takes the chunks r, r + replicas, ... of a set: the division of the work follows the
  /// replicas, like everything else. `share` makes the message of the chunks given to it (on several threads at once);
  /// `total` becomes the sum over the replicas. All have the same size. Of a replica in parts each is given the same
  /// chunks, and its link.
  using ChunkShare = std::function<AlignedFloats(std::span<const int64_t> chunks, graph::PartLink* part)>;
  void sum_chunks(int64_t chunks, const ChunkShare& share, std::span<float> total);

  /// Keys of a step's random numbers: a rollback must not meet the same numbers again, they are what led to the
  /// collapse. `ahead`: of a later step of the epoch.
  RngKey key(const TrainState& state, int replica, int ahead = 0) const;

  /// Of what this worker has read for a replica of the step: where a fault of reading is due (train.audit.fault), a bit
  /// of it turns over.
  template <class Batch>
  Batch as_read(const TrainState& state, int replica, Batch batch) const {
    if (is_due(Fault::Place::kBatch, state)) turn_a_bit(batch, fault_key(key(state, replica)));
    return batch;
  }
  /// Likewise of those of owned_replicas().
  template <class Batch>
  void see_read(const TrainState& state, std::vector<Batch>& batches) const {
    const std::vector<int> replicas = owned_replicas();
    for (size_t i = 0; i < batches.size(); ++i) batches[i] = as_read(state, replicas[i], std::move(batches[i]));
  }
  /// For Contribution::read of a replica of the step that was computed from it.
  template <class Batch>
  uint32_t read_digest(const TrainState& state, const Batch& batch) const {
    return is_audited(job_.train.audit.rate, key(state, 0)) ? digest_of(batch) : 0;
  }

  /// Of the workers whose replicas come together, and those of this worker: their pieces, where train.split divides
  /// them.
  comm::Group& group() { return exchange_->group(); }
  const std::vector<int>& owned() const { return exchange_->owned(); }
  /// The replicas of these pieces, each once, and among them that of the i-th piece.
  std::vector<int> owned_replicas() const;
  size_t replica_index(size_t piece_index) const;
  int replica_of(int piece) const { return teams_.replica_of(piece); }
  graph::PartLink* link(int piece) { return teams_.link(piece); }

 private:
  bool is_due(Fault::Place place, const TrainState& state) const {
    return fault_.is_due(place, group_.view(), group_.rank(), state.global_step);
  }

  struct Moments {
    PhaseClock::Seconds begin, computed, summed, updated;
  };
  /// Whose end without a result the other parts of its replica hear of.
  template <class Work>
  auto of_piece(int piece, const Work& work);
  void account(const Moments& at);
  void account_step(const Moments& at, const std::vector<comm::Group::Wait>& waits, const TrainState& state,
                    size_t network, const SideWork& side);

  // Kept from update to update: memory that is new is slow to write.
  struct Messages {
    std::vector<Message> parts;  // of the replicas
    Message total;
  };
  Messages& messages_of(size_t network, const graph::Parameters& parameters, size_t losses);

  const job::Job& job_;
  comm::Group& group_;
  std::optional<ReplicaDevices> devices_;  // of a worker with several
  PartTeams teams_;
  ReplicaCompute compute_;
  const std::unique_ptr<Exchange> exchange_;
  std::map<size_t, Messages> messages_;  // by network
  Fault fault_;
  int64_t clean_step_ = -1;  // see AuditFinding
  PhaseClock& clock_;
};

}  // namespace linac::train
