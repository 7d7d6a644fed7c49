#pragma once
// An optimiser on flat buffers: one loop over all weights of a network, element by element, so the result does not
// depend on how the loop is cut. Not thread-safe per object.

#include <span>
#include <string>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/optimizer/table.h"

namespace linac::optimizer {

class Optimizer {
 public:
  /// `size`: floats in the trainable buffer. A name that is not in the table is a broken invariant (the job has been
  /// checked).
  Optimizer(const Settings& settings, size_t size);

  /// Clips a copy of the gradient if asked to, then changes the weights. All spans have `size` floats.
  void step(std::span<float> weights, std::span<const float> gradient, double learning_rate);

  /// What a checkpoint must hold, with names: "velocity" (rmsprop); "momentum", "velocity" (adam); ...
  struct Slot {
    std::string name;
    AlignedFloats values;
  };
  std::vector<Slot>& slots() { return slots_; }
  const std::vector<Slot>& slots() const { return slots_; }
  int64_t updates() const { return updates_; }
  void set_updates(int64_t updates) { updates_ = updates; }

 private:
  std::span<const float> clipped(std::span<const float> gradient);

  Settings settings_;
  const Kind* kind_;
  std::vector<Slot> slots_;
  int64_t updates_ = 0;
  AlignedFloats clipped_;
};

}  // namespace linac::optimizer
