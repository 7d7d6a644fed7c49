#pragma once
// What the rule by which replicas come together (exchange/exchange.h) keeps from one update to the next, as floats by
// name. A value. Most rules keep nothing, and then nothing of this is in any file or message.

#include <map>
#include <string>
#include <vector>

namespace linac::train {

struct ExchangeState {
  using Values = std::map<std::string, std::vector<float>>;

  /// The same on all ranks at the same moment: part of checkpoints, and of what workers get that lack the state.
  Values shared;
  /// Of this rank alone, another one on each: no checkpoint has it and nobody else gets it, so files do not depend on
  /// who wrote them. A rank that gets its state from a file or from another one begins without.
  Values own;
};

}  // namespace linac::train
