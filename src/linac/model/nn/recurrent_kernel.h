#pragma once
// linac's own GRU and LSTM (model/kernels/recurrent.h) as nodes of LibTorch's autograd: masked steps are not computed.
// Thread-safe; the calling thread does all the work.

#include "linac/model/nn/layers.h"

namespace linac::nn {

/// Multipliers of x (N, 1, F) and of the state (N, U), the same at all steps: none, one for all gates, or one a gate.
struct Dropped {
  std::vector<at::Tensor> x, state;
};

/// Whether the kernels compute this layer: GRU or LSTM with activations that they have, float on the CPU, and the call
/// wants linac's kernels.
bool recurrent_kernel_possible(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights);

struct KernelResult {
  at::Tensor output;  // (N, U), or (N, T, U) with return_sequences, where a masked step repeats the output before it
  at::Tensor states;  // after the last step that counts: (N, U), of an LSTM (N, 2 U), h and c; if they are wanted
};

enum class StatesWanted { kNo, kYes };

/// x (N, T, F); mask (N, T) of bool or undefined; weights in Keras's order and axes. `dropped`: nothing, or multipliers
/// a gate of the state and perhaps of x. `begin`: the states to begin with, as above; undefined: zeros. `kept`: what
/// stays for the backward pass.
KernelResult recurrent_kernel(const graph::Node& layer, const at::Tensor& x, const at::Tensor& mask,
                              const std::vector<at::Tensor>& weights, const Dropped& dropped, const at::Tensor& begin,
                              StatesWanted states_wanted, Precision kept);

}  // namespace linac::nn
