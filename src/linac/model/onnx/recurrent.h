#pragma once
// Keras's recurrent layers by ONNX's operators RNN, GRU and LSTM. Those know sequences that end early, but no masks:
// the steps that a mask hides leave the state as it is, so the others are moved together, and the outputs taken back to
// their places. Pure, thread-safe.

#include "linac/model/onnx/layers.h"

namespace linac::onnx {

/// In which order the outputs of all steps come: that of the input, or the one in which the layer reads them.
enum class StepOrder : uint8_t { kAsGiven, kAsRead };

struct RecurrentOutput {
  StepOrder order;
  bool zero_masked_steps;
};

/// Tensors: the output (N, U), or (N, T, U) where the layer returns sequences, and the states after the last step that
/// counts, (N, U) each.
struct RecurrentTensors {
  std::string output;
  Emitter::Names states;
};

/// `layer` (SimpleRNN, GRU or LSTM) on the first input of the call and its mask. `initial`: the states to begin with;
/// zeros if there are none. User error naming the layer for activations that the operators do not have.
RecurrentTensors recurrent_layer(const LayerCall& call, const graph::Node& layer, std::span<const LayerWeight> weights,
                                 std::span<const std::string> initial, const RecurrentOutput& wanted);

}  // namespace linac::onnx
