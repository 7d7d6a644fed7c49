#pragma once
// Keras's recurrent layers by ONNX's operators RNN, GRU and LSTM. Those know sequences that end early, but no masks:
// the steps that a mask hides leave the state as it is, so the others are moved together, and the outputs taken back to
// their places. Pure, thread-safe.

#include "linac/onnx/layers.h"

namespace linac::onnx {

/// In which order the outputs of all steps come: that of the input, or the one in which the layer reads them.
enum class StepOrder : uint8_t { kAsGiven, kAsRead };

struct RecurrentOutput {
  StepOrder order;
  bool zero_masked_steps;
};

/// The output of `layer` (SimpleRNN, GRU or LSTM) on the input of the call and its mask: (N, U), or (N, T, U) where it
/// returns sequences. User error naming the layer for activations that the operators do not have.
std::string recurrent_layer(const LayerCall& call, const graph::Node& layer, std::span<const LayerWeight> weights,
                            const RecurrentOutput& wanted);

}  // namespace linac::onnx
