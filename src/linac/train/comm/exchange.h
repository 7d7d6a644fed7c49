#pragma once
// How the nodes of the replicas' tree are kept, and travel. Values only; thread-safe.

#include <span>

#include "linac/base/base/bfloat16.h"

namespace linac::comm {

/// As they are, or every one of them rounded to bfloat16, which halves what travels. The same bits on any number of
/// workers in both cases: the rounding belongs to the tree.
enum class Exchange { kFloat, kBfloat16 };

inline void round_to(Exchange exchange, std::span<float> values) {
  if (exchange == Exchange::kFloat) return;
  for (float& value : values) value = from_bfloat16(to_bfloat16(value));
}

}  // namespace linac::comm
