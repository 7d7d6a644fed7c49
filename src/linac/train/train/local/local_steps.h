#pragma once
// A training in which islands of replicas train apart for a round of steps, and then come together, as a mean
// (train.sync.mode = local, easgd) or in turns (local/turns.h). It drives a loop of any kind, island by island; what
// comes out depends on the islands and never on who carries them, so a run over many sites is repeated to the same bits
// by one worker. Each event trains once an epoch: a step of an island takes its replicas' part of the same global batch
// that an exact step would take.
//
// Sources: local SGD (Stich, arXiv:1805.09767), post-local SGD (Lin et al., arXiv:1808.07217), DiLoCo (Douillard et
// al., arXiv:2311.08105), elastic averaging (Zhang et al., arXiv:1412.6651).

#include <functional>
#include <map>
#include <memory>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/local/island_states.h"
#include "linac/train/train/local/islands.h"
#include "linac/train/train/local/replayed.h"
#include "linac/train/train/local/round.h"
#include "linac/train/train/loops/loop_steps.h"
#include "linac/train/train/record/phase_clock.h"

namespace linac::train {

class LocalSteps : public LoopSteps {
 public:
  /// The learning rate of the step that a state stands before.
  using Rate = std::function<double(const TrainState&)>;

  /// Borrows job, group and clock; user error for a replay that cannot be. `inner` was made with `islands`
  /// (loops/computing.h).
  LocalSteps(const job::Job& job, comm::Group& group, std::shared_ptr<LoopSteps> inner,
             std::shared_ptr<Islands> islands, int64_t steps_per_epoch, Rate rate, PhaseClock& clock);

  std::vector<const graph::Graph*> graphs() const override { return inner_->graphs(); }
  TrainState initial_state() const override { return inner_->initial_state(); }
  void seek(const TrainState& state) override;
  std::optional<InputPlace> input_place() const override { return inner_->input_place(); }
  bool changes_at_once() const override { return true; }
  /// A round ends with its epoch, and where the training does.
  int64_t steps_at_once(const TrainState& state) const override;
  void complete(TrainState& state) override { states_.complete(state); }
  void release(TrainState& state) override { IslandStates::strip(state); }
  StepResult step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive) override;
  /// Between workers: a step's part of what travels in a round.
  std::vector<UpdateOutline> updates(const TrainState& state, int replicas) const override;
  TestResult test(const TrainState& state, Figures figures) override;

 private:
  bool is_exact(const TrainState& state) const { return state.global_step < job_.train.sync.begin; }
  StepResult exact_step(TrainState& state, double learning_rate, StepWish wish, const Arrive& arrive);
  void go_on(int island, const TrainState& begin, int64_t steps);

  const job::Job& job_;
  comm::Group& group_;
  const std::shared_ptr<LoopSteps> inner_;
  const std::shared_ptr<Islands> islands_;
  const int64_t steps_per_epoch_;
  const Rate rate_;
  PhaseClock& clock_;
  IslandStates states_;
  const AnewRounds replayed_;
  /// Of the round under way. What a worker has of islands that it carries alone outlives a view: only those begin the
  /// round again that have lost somebody.
  std::map<int, IslandRound> rounds_;
  int64_t view_ = 0;        // its number
  std::optional<int> at_;   // where the loop's input stands: that island; nothing: anywhere else
  bool half_done_ = false;  // a step of at_ has begun and did not end
};

}  // namespace linac::train
