#pragma once
// What layers that drop values in training draw. Pure functions of their arguments, thread-safe.

#include <ATen/ATen.h>

#include <cstdint>

#include "linac/base/rng.h"

namespace linac::nn {

/// The multipliers 0 and 1 / (1 - rate) of `cells` elements an event, (N, cells) on the CPU; 0 <= rate <= 1, kept to
/// 1e-5. An event's numbers follow from the key, its place in the batch and `cells`. A layer that draws several times
/// counts its draws: each has numbers of its own.
at::Tensor draw_kept(const RngKey& key, double rate, int64_t events, int64_t cells, uint64_t draw = 0);

}  // namespace linac::nn
