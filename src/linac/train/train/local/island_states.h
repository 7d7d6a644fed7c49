#pragma once
// What an island keeps from round to round beside the weights that all share: the state of its optimisers, what int8
// has left out of its last way, and weights of its own where the rule lets it have some. Only the workers that carry
// the island have it, and one that speaks for another island, so that whoever is lost takes nothing along; when a
// checkpoint is due, all get it. Used from one thread.

#include <cstdint>
#include <map>
#include <set>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/local/islands.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

struct IslandState {
  std::vector<optimizer::Optimizer> optimizers;  // of the networks of TrainState, in their order
  std::vector<std::vector<float>> left_out;      // likewise; empty without int8
  std::vector<AlignedFloats> weights;            // that it goes on from, likewise; empty but for easgd: those of all
};

class IslandStates {
 public:
  /// Borrows all.
  IslandStates(const job::Job& job, comm::Group& group, Islands& islands);

  /// Whether an island keeps anything, by the job.
  bool keeps() const;

  /// Collective, in each new view and whenever the training goes on from another moment: each worker gets the states
  /// of the islands that it carries as they stand at the moment of `state`, from others where it lacks them. An island
  /// that nobody has any more begins anew, which is said.
  void find(const TrainState& state);
  /// The islands that begin anew at this moment, since nobody had their state. The same on all ranks.
  const std::set<int>& anew() const { return anew_; }
  /// The same on all ranks, before a round: these islands begin it anew, though what they keep is there.
  void begin_anew(const TrainState& state, const std::set<int>& islands);
  /// All that this worker has: it comes to a run that went on without it.
  void forget();
  /// Of a carried island, where the round begins.
  const IslandState& of(int island) const { return begun_.at(island).state; }

  /// Collective: of the carried islands, where a round ends that may still come to nothing. And that it counts.
  void offer(const TrainState& behind, std::map<int, IslandState> states);
  void count();

  /// Collective: `state`, which stands where the last round ended, gets those of all islands; and loses them again, as
  /// they hold for that moment alone.
  void complete(TrainState& state) const;
  static void strip(TrainState& state);

  /// A state whose optimisers are those of `state` itself.
  IslandState fresh(const TrainState& state) const;

 private:
  struct Held {
    int rollbacks = 0;
    int64_t steps = 0;
    IslandState state;
    bool is_anew = false;
    bool is_at(const TrainState& at) const { return rollbacks == at.rollbacks && steps == at.global_step; }
  };
  /// Each buffer of what it keeps under the name that it has in a checkpoint; counts of updates as two floats.
  template <class Visit>
  void for_each_buffer(int island, const TrainState& shape, IslandState& state, const Visit& visit) const;
  void take_told(const TrainState& state);
  std::map<int, std::map<int, bool>> who_holds() const;

  const job::Job& job_;
  comm::Group& group_;
  Islands& islands_;
  std::map<int, Held> begun_, offered_;
  std::set<int> anew_;
};

}  // namespace linac::train
