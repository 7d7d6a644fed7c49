#pragma once
// The state behind the last step that an audit has found right, or of the training's begin. Once an audit finds workers
// that compute wrongly the training goes back there: they may have had a part in all that was done since. That follows
// in the view without them; who has not gone back when it is left does so in the next one, or gets the state of one
// that has. A state that has gone back is a later one for comm::Moment, as after a rollback. Without audits it holds
// nothing. Used by the training's thread.

#include <cstdint>
#include <optional>
#include <span>

#include "linac/train/comm/group.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class RightState {
 public:
  explicit RightState(bool audited) : audited_(audited) {}

  /// What others are told of `state`.
  comm::Moment moment_of(const TrainState& state) const;

  /// An audit has found all workers right in the step before `state`.
  void set(const TrainState& state);
  /// The training went back to `state` as it had collapsed: what lies behind it is none any more.
  void limit(const TrainState& state);
  /// Collective among `ranks`, who alone call it, as share_state(). `state`: that they have by now.
  void share(comm::Group& group, std::span<const int> ranks, const TrainState& state, bool founding);

  /// An audit behind `state` has found somebody. Whether steps are in doubt.
  bool doubt(const TrainState& state);
  /// Steps that were done when it stood so far.
  int64_t global_step() const { return state_->global_step; }

  /// Collective, in each view but the first: behind which step was doubted, where the state is to go back. `source`:
  /// whose state the view has.
  std::optional<int64_t> due(comm::Group& group, int source);
  /// Where it goes back to from `state`.
  comm::Moment target(const TrainState& state) const;
  /// It has.
  void restore(TrainState& state);

 private:
  const bool audited_;
  std::optional<TrainState> state_;
  int64_t returns_ = 0;      // of this start
  int64_t doubted_at_ = -1;  // until the state has gone back
};

}  // namespace linac::train
