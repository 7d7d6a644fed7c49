#include "linac/train/train/state/share_state.h"

#include <utility>

#include "linac/train/train/agreement.h"

namespace linac::train {

void share_state(comm::Group& group, std::span<const int> ranks, TrainState& state) {
  const bool mine = group.rank() == ranks.front();
  if (mine && ranks.size() == 1) return;
  std::string position = mine ? position_text(state) : "";
  broadcast_bytes(group, position, ranks);
  TrainState coming;
  if (!mine) coming = state;
  for (const std::span<float> values : values_of(mine ? state.networks : coming.networks))
    group.broadcast_among(ranks, std::as_writable_bytes(values));
  if (mine) return;
  set_position(position, "state of another worker", coming);
  state = std::move(coming);
}

}  // namespace linac::train
