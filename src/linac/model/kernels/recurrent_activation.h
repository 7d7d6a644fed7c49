#pragma once
// The functions of a recurrent layer's cells. Values only.

namespace linac::kernels {

/// Keras's functions whose slope follows from their value. kHardSigmoid cuts x / 6 + 0.5 off to [0, 1],
/// kSteepHardSigmoid (Keras 2's) 0.2 x + 0.5.
enum class RecurrentActivation { kTanh, kSigmoid, kLinear, kRelu, kHardSigmoid, kSteepHardSigmoid };

struct RecurrentActivations {
  RecurrentActivation state = RecurrentActivation::kTanh;     // of what is new in the state, and of what an LSTM shows
  RecurrentActivation gates = RecurrentActivation::kSigmoid;  // of the gates that multiply

  bool usual() const { return state == RecurrentActivation::kTanh && gates == RecurrentActivation::kSigmoid; }
};

}  // namespace linac::kernels
