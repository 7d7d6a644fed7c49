#pragma once
// Recurrent layers, GRU and LSTM, on the CPU: forward, and backward through time. They equal Keras 3's layers
// (https://keras.io/api/layers/recurrent_layers; Cho et al., arXiv:1406.1078; Hochreiter and Schmidhuber, Neural
// Computation 9 (1997) 1735), `recurrent_dropout` included, and never compute a masked step.
//
// Events are laid one after the other into lanes of equal total length (recurrent_lanes.h), 16 lanes to a vector row,
// so any number of units fills the vectors, no event's result depends on its neighbours, and hardly a lane idles. kAvx2
// and kAvx512 give the same bits (isa.h). The order of every sum depends on the shape and the masks alone, not on the
// number of threads. What the backward pass needs can be kept as bfloat16: the outputs are the same bits as ever, the
// gradients those of rounded x, states and gates.
//
// Recurrent is immutable after construction and thread-safe; a workspace serves one call at a time.

#include <cstdint>
#include <memory>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/model/kernels/isa.h"
#include "linac/model/kernels/parallel.h"
#include "linac/model/kernels/recurrent_activation.h"
#include "linac/model/kernels/recurrent_lanes.h"
#include "linac/model/kernels/row_kernels.h"

namespace linac::kernels {

/// With U units, z, r ... the gates after their sigmoid, s the state, x W the part of the input, b the bias:
///   kGruResetAfter  hh = tanh(x Wh + b + r * (s Uh + b'))   s' = z * s + (1 - z) * hh   gates z r h, bias [2][3U]
///   kGruResetBefore hh = tanh(x Wh + b + (r * s) Uh)        s' likewise                 gates z r h, bias [3U]
///   kLstm           c' = f * c + i * tanh(x Wc + s Uc + b)  s' = o * tanh(c')           gates i f c o, bias [4U]
/// with tanh and the sigmoid standing for whatever activations the layer has.
enum class RecurrentCell { kGruResetAfter, kGruResetBefore, kLstm };

struct RecurrentShape {
  RecurrentCell cell = RecurrentCell::kGruResetAfter;
  int64_t steps = 0, features = 0, units = 0;  // all at least 1
  bool has_bias = true;
  bool go_backwards = false;      // the last step first; a sequence comes out in the order of processing
  bool return_sequences = false;  // the state after every step (after a masked one the last before it), not the last
  RecurrentActivations activations = {};
  bool drops = false;  // each gate reads x and the state (reset before: r * s for h) times RecurrentMultipliers

  int64_t gates() const { return cell == RecurrentCell::kLstm ? 4 : 3; }
  int64_t kernel_floats() const { return features * gates() * units; }
  int64_t recurrent_floats() const { return units * gates() * units; }
  int64_t bias_floats() const { return (cell == RecurrentCell::kGruResetAfter ? 2 : 1) * gates() * units; }
  int64_t multipliers() const { return gates() * (features + units); }           // of an event that drops
  int64_t out_floats() const { return (return_sequences ? steps : 1) * units; }  // of an event
  int64_t state_floats() const { return (cell == RecurrentCell::kLstm ? 2 : 1) * units; }
  /// Multiplications and additions of the matrices' products, for one step of one event.
  double forward_flop() const { return 2.0 * static_cast<double>(kernel_floats() + recurrent_floats()); }
  double backward_flop(bool to_the_input) const;
};

/// Keras's axes: kernel [features][gates * units], recurrent [units][gates * units], bias as above; null without one.
struct RecurrentWeights {
  const float *kernel, *recurrent, *bias;
};

/// What dropout multiplies, the same at all steps: x [events][gates][features] (null: 1) and the state
/// [events][gates][units], gates in Keras's order. For shapes that drop.
struct RecurrentMultipliers {
  const float *x = nullptr, *state = nullptr;
};

/// Overwritten with sums over all events and valid steps. `bias` null without one; `x` [events][steps][features] null
/// if not wanted, zero at masked steps.
struct RecurrentGradients {
  float *kernel, *recurrent, *bias;
  float* x;
};

/// States of the events, [events][state_floats()]: s, of an LSTM s and c. What they begin with (null: zeros), and what
/// they are after the last valid step (null: not wanted); an event without one ends as it begins.
struct RecurrentStates {
  const float* begin = nullptr;
  float* end = nullptr;
};

/// Of the loss, to those states; null: zeros, or not wanted.
struct RecurrentStateGradients {
  const float* end = nullptr;
  float* begin = nullptr;
};

/// What a forward pass keeps for the backward pass, and scratch memory. Grows to what the largest batch needs.
struct RecurrentWorkspace {
  LanePlan plan;
  AlignedFloats slots;  // of the steps: all of them, or two that take turns
  AlignedFloats kept;   // all steps rounded to bfloat16; for Storage::kBfloat16 alone
  AlignedFloats weights, scratch, sums;
  bool is_kept = false;  // what the backward pass needs
};

enum class Keep { kNothing, kForBackward };

class Cell;

class Recurrent {
 public:
  /// `storage`: of what a forward pass keeps for the backward pass.
  explicit Recurrent(const RecurrentShape& shape, Isa isa = best_isa(), Storage storage = Storage::kFloat);
  ~Recurrent();

  /// x [events][steps][features]; mask [events][steps], not 0 where a step is valid, or null for all valid; out
  /// [events][units] or, for sequences, [events][steps][units]. Masked steps of x are not read. Before its first valid
  /// step an event gives zeros.
  void forward(int64_t events, const float* x, const uint8_t* mask, const RecurrentWeights& weights, float* out,
               Keep keep, RecurrentWorkspace& workspace, const Parallel& parallel = serially,
               const RecurrentMultipliers& multipliers = {}, const RecurrentStates& states = {}) const;
  /// After a forward pass on this workspace that kept what is needed, with the same weights and multipliers;
  /// `out_gradient` is of out's shape. May be called again: the workspace is as it was.
  void backward(int64_t events, const RecurrentWeights& weights, const float* out_gradient,
                const RecurrentGradients& gradients, RecurrentWorkspace& workspace, const Parallel& parallel = serially,
                const RecurrentMultipliers& multipliers = {}, const RecurrentStateGradients& states = {}) const;

  const RecurrentShape& shape() const { return shape_; }

 private:
  const RecurrentShape shape_;
  const Isa isa_;
  const Storage storage_;
  const std::unique_ptr<const Cell> cell_;
};

}  // namespace linac::kernels
