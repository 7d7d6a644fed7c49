#pragma once
// Faults made on purpose: a bit that turns over, as in a memory or a processor that errs. Pure, thread-safe.

#include <cstddef>
#include <span>

#include "linac/base/base/rng.h"

namespace linac {

/// Turns over one bit of `memory`, which is not empty; which one follows from `key`.
void turn_a_bit(std::span<std::byte> memory, const RngKey& key);

}  // namespace linac
