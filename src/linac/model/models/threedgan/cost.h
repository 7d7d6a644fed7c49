#pragma once
// What a training step costs, counted on the graphs. Pure.

#include "linac/model/models/threedgan/threedgan.h"

namespace linac::models::threedgan {

struct StepCost {
  double gflop = 0;         // a shower and step: one generation, two discriminator updates, two generator updates
  double folded_gflop = 0;  // after the passes of the graph
};

/// A layer's backward pass costs its forward pass twice (gradients to input and weights); the first layer of a network
/// needs no gradient to its input, and the discriminator none to its weights in a generator update.
StepCost step_cost(const ThreeDGan& model);

/// GFLOP of one shower through the generator, after the passes.
double generator_gflop(const ThreeDGan& model);

}  // namespace linac::models::threedgan
