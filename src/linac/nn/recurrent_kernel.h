#pragma once
// linac's own GRU and LSTM (kernels/recurrent.h) as nodes of LibTorch's autograd: masked steps are not computed.
// Thread-safe; the calling thread does all the work.

#include "linac/nn/layers.h"

namespace linac::nn {

/// Whether the kernels compute this layer: GRU or LSTM with tanh and sigmoid, float on the CPU, and the call wants
/// linac's kernels.
bool recurrent_kernel_possible(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights);

struct KernelResult {
  at::Tensor output;  // (N, U), or (N, T, U) with return_sequences, where a masked step repeats the output before it
  at::Tensor states;  // after the last step that counts: (N, U), of an LSTM (N, 2 U), h and c; if they are wanted
};

enum class StatesWanted { kNo, kYes };

/// x (N, T, F); mask (N, T) of bool or undefined; weights in Keras's order and axes. `begin`: the states to begin with, as
/// above; undefined: zeros. `kept`: what stays for the backward pass.
KernelResult recurrent_kernel(const graph::Node& layer, const at::Tensor& x, const at::Tensor& mask,
                              const std::vector<at::Tensor>& weights, const at::Tensor& begin, StatesWanted wanted,
                              Precision kept);

}  // namespace linac::nn
