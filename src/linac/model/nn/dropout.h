#pragma once
// What layers draw in training. Pure functions of their arguments, thread-safe.

#include <ATen/ATen.h>

#include <cstdint>

#include "linac/base/base/rng.h"

namespace linac::nn {

/// The multipliers 0 and 1 / (1 - rate) of `cells` elements an event, (N, cells) on the CPU; 0 <= rate <= 1, kept to
/// 1e-5. An event's numbers follow from the key, its place in the batch and `cells`. A layer that draws several times
/// counts its draws: each has numbers of its own.
at::Tensor draw_kept(const RngKey& key, double rate, int64_t events, int64_t cells, uint64_t draw = 0);

/// Numbers in [0, 1), one an event, (N) on the CPU. Draws are counted as above.
at::Tensor draw_uniform(const RngKey& key, int64_t events, uint64_t draw = 0);

}  // namespace linac::nn
