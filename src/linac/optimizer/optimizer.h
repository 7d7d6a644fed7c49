#pragma once
// Optimisers on flat buffers: one loop over all weights of a network, element by element, so the result does not depend
// on how the loop is cut. All as Keras 3 defines them (keras.io/api/optimizers). Not thread-safe per object.

#include <span>
#include <string>
#include <vector>

#include "linac/base/aligned.h"
#include "linac/spec/job.h"

namespace linac::optimizer {

/// The product of Nadam's momentum factors of the updates 1 to n, which Keras keeps in its state.
double nadam_product(double beta_1, int64_t n);

class Optimizer {
 public:
  /// `size`: floats in the trainable buffer. Throws a user error for an unknown name.
  Optimizer(const spec::Optimizer& settings, size_t size);

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
  void update(std::span<float> weights, std::span<const float> gradient, double learning_rate);

  spec::Optimizer settings_;
  std::vector<Slot> slots_;
  int64_t updates_ = 0;
  AlignedFloats clipped_;
};

}  // namespace linac::optimizer
