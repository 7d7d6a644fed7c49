#pragma once
// linac's own GRU and LSTM (kernels/recurrent.h) as nodes of LibTorch's autograd: masked steps are not computed.
// Thread-safe; the calling thread does all the work.

#include "linac/nn/layers.h"

namespace linac::nn {

/// Multipliers of x (N, 1, F) and of the state (N, U), the same at all steps: none, one for all gates, or one a gate.
struct Dropped {
  std::vector<at::Tensor> x, state;
};

/// Whether the kernels compute this layer: GRU or LSTM with activations that they have, float on the CPU, and the call
/// wants linac's kernels.
bool recurrent_kernel_possible(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights);

/// x (N, T, F); mask (N, T) of bool or undefined; weights in Keras's order and axes. Returns (N, U), or (N, T, U) with
/// return_sequences, where a masked step repeats the output before it. `dropped`: nothing, or multipliers a gate of the
/// state and perhaps of x. `kept`: what stays for the backward pass.
at::Tensor recurrent_kernel(const graph::Node& layer, const at::Tensor& x, const at::Tensor& mask,
                            const std::vector<at::Tensor>& weights, const Dropped& dropped, Precision kept);

}  // namespace linac::nn
