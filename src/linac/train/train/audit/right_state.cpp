#include "linac/train/train/audit/right_state.h"

#include <string>

#include "linac/train/train/agreement.h"
#include "linac/train/train/state/share_state.h"

namespace linac::train {

comm::Moment RightState::moment_of(const TrainState& state) const {
  comm::Moment moment = train::moment_of(state);
  moment.rollbacks += returns_;
  return moment;
}

void RightState::set(const TrainState& state) {
  if (audited_) state_ = state;
}

void RightState::limit(const TrainState& state) {
  if (state_ && state_->global_step > state.global_step) state_ = state;
}

void RightState::share(comm::Group& group, std::span<const int> ranks, const TrainState& state, bool founding) {
  if (!audited_) return;
  if (!state_ || founding) state_ = state;
  share_state(group, ranks, *state_);
  std::string returns = std::to_string(returns_);
  broadcast_bytes(group, returns, ranks);
  returns_ = std::stoll(returns);
}

bool RightState::doubt(const TrainState& state) {
  if (state_->global_step >= state.global_step) return false;
  doubted_at_ = state.global_step;
  return true;
}

std::optional<int64_t> RightState::due(comm::Group& group, int source) {
  if (!audited_) return std::nullopt;
  std::string at = std::to_string(doubted_at_);
  broadcast_bytes(group, at, source);
  doubted_at_ = std::stoll(at);
  return doubted_at_ < 0 ? std::nullopt : std::optional(doubted_at_);
}

comm::Moment RightState::target(const TrainState& state) const {
  comm::Moment moment = train::moment_of(*state_);
  moment.rollbacks = moment_of(state).rollbacks + 1;
  return moment;
}

void RightState::restore(TrainState& state) {
  const int rollbacks = state.rollbacks;
  state = *state_;
  state.rollbacks = rollbacks;
  ++returns_;
  doubted_at_ = -1;
}

}  // namespace linac::train
