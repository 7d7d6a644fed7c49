#pragma once
// What islands tell each other at the end of a round: their ways as train.sync.exchange has them. Used from one thread.

#include <functional>
#include <map>
#include <span>
#include <string>

#include "linac/base/base/aligned.h"
#include "linac/train/train/local/island_states.h"
#include "linac/train/train/local/islands.h"

namespace linac::train {

/// Bytes of a way of so many weights.
size_t bytes_of_way(const std::string& exchange, size_t floats);

/// Sees the way of an island in the network of this number.
using SeeWay = std::function<void(int island, size_t network, std::span<const float> way)>;

/// Collective: all see the same ways, of all islands in their order. `told`: of the carried islands, the ways of all
/// networks one behind the other, `sizes` weights each; `kept`: of these islands, gets what bytes leave out.
void see_ways(const std::string& exchange, Islands& islands, std::span<const size_t> sizes,
              const std::map<int, AlignedFloats>& told, std::map<int, IslandState>& kept, const SeeWay& see);

}  // namespace linac::train
