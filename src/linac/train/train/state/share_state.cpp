#include "linac/train/train/state/share_state.h"

#include <utility>

#include "linac/train/train/agreement.h"

namespace linac::train {

comm::Moment moment_of(const TrainState& state) {
  return {.rollbacks = state.rollbacks, .steps = state.global_step, .epochs = state.epoch};
}

void share_state(comm::Group& group, std::span<const int> ranks, TrainState& state) {
  const bool mine = group.rank() == ranks.front();
  if (mine && ranks.size() == 1) return;
  std::string position = mine ? position_text(state) : "";
  broadcast_bytes(group, position, ranks);
  TrainState coming;
  if (!mine) {
    coming = state;
    set_position(position, "state of another worker", coming);
  }
  TrainState& travels = mine ? state : coming;
  for (const std::span<float> values : values_of(travels.networks))
    group.broadcast_among(ranks, std::as_writable_bytes(values));
  for (const std::span<float> values : values_of(travels.exchange.shared))
    group.broadcast_among(ranks, std::as_writable_bytes(values));
  if (!mine) state = std::move(coming);
}

}  // namespace linac::train
