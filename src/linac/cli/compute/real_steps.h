#pragma once
// Which steps of sequences are there, and not only to fill a batch. Pure, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::cli {

/// Of the lists of an input, (events, steps, features).
struct StepsOfInput {
  std::span<const float> values;
  graph::Shape shape;  // of an event
  float padding = 0;
};

/// For each place of an output of shape (steps, ..., values), in `events` events: 1 where its step is there. `mask`:
/// what the model says of the output's steps; empty: nothing. Then a step is there that is not behind the last row
/// other than padding of each of the inputs with as many rows; all are where no input has.
std::vector<uint8_t> real_steps(const graph::Shape& output, int64_t events, std::span<const uint8_t> mask,
                                const std::vector<StepsOfInput>& inputs);

}  // namespace linac::cli
