#include "linac/train/train/audit/fault.h"

#include <array>
#include <bit>
#include <optional>

#include "linac/model/graph/turned_activation.h"

namespace linac::train {
namespace {

constexpr uint32_t kLane = 2;  // of Stream::kAudit; those before are the draw's

}  // namespace

RngKey fault_key(RngKey key) {
  key.stream = Stream::kAudit;
  key.lane = kLane;
  return key;
}

void turn_a_bit(const graph::Layout& layout, std::span<float> values, const RngKey& key) {
  if (layout.slots.empty()) return;
  std::array<uint32_t, 3> drawn{};
  fill_bits(fault_key(key), 0, drawn);
  const graph::Slot& slot = layout.slots[drawn[0] % layout.slots.size()];
  const auto place = static_cast<size_t>(slot.offset + drawn[1] % slot.size);
  values[place] = std::bit_cast<float>(std::bit_cast<uint32_t>(values[place]) ^ (1U << (drawn[2] % 32)));
}

bool Fault::is_due(Place place, const comm::View& view, int rank, int64_t global_step) const {
  return place == place_ && global_step >= settings_.step &&
         view.members.at(static_cast<size_t>(rank)).seniority == settings_.worker;
}

void Fault::strike(const comm::View& view, int rank, TrainState& state, size_t network) {
  if (has_struck_ || !is_due(Place::kWeights, view, rank, state.global_step)) return;
  has_struck_ = true;
  graph::Parameters& parameters = state.networks[network].parameters;
  turn_a_bit(parameters.trainable_layout, parameters.trainable, {.step = static_cast<uint32_t>(state.step)});
}

models::Contribution Fault::spoiled(const graph::Layout& network, const RngKey& key,
                                    const std::function<models::Contribution()>& compute) const {
  std::optional<graph::TurnedActivation> turned;
  if (place_ == Place::kActivation) turned.emplace(fault_key(key));
  models::Contribution made = compute();
  if (place_ == Place::kGradient) turn_a_bit(network, made.gradient, key);
  return made;
}

}  // namespace linac::train
