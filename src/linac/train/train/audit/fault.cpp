#include "linac/train/train/audit/fault.h"

#include <array>
#include <bit>
#include <span>

namespace linac::train {
namespace {

constexpr uint32_t kLane = 2;  // of Stream::kAudit; those before are the draw's

// Of a weight; between them lie gaps.
void turn_a_bit(const graph::Layout& layout, std::span<float> values, RngKey key) {
  if (layout.slots.empty()) return;
  key.stream = Stream::kAudit;
  key.lane = kLane;
  std::array<uint32_t, 3> drawn{};
  fill_bits(key, 0, drawn);
  const graph::Slot& slot = layout.slots[drawn[0] % layout.slots.size()];
  const auto place = static_cast<size_t>(slot.offset + drawn[1] % slot.size);
  values[place] = std::bit_cast<float>(std::bit_cast<uint32_t>(values[place]) ^ (1U << (drawn[2] % 32)));
}

}  // namespace

bool Fault::is_due(const comm::View& view, int rank, const TrainState& state) const {
  return settings_.any() && state.global_step >= settings_.step &&
         view.members.at(static_cast<size_t>(rank)).seniority == settings_.worker;
}

void Fault::strike(const comm::View& view, int rank, TrainState& state, size_t network) {
  if (settings_.in != "weights" || has_struck_ || !is_due(view, rank, state)) return;
  has_struck_ = true;
  graph::Parameters& parameters = state.networks[network].parameters;
  turn_a_bit(parameters.trainable_layout, parameters.trainable, {.step = static_cast<uint32_t>(state.step)});
}

bool Fault::spoils(const comm::View& view, int rank, const TrainState& state) const {
  return settings_.in == "gradient" && is_due(view, rank, state);
}

void Fault::spoil(const graph::Layout& network, models::Contribution& contribution, RngKey key) const {
  turn_a_bit(network, contribution.gradient, key);
}

}  // namespace linac::train
