#pragma once
// Recurrent layers as Keras defines them (keras.io/api/layers/recurrent_layers): SimpleRNN, GRU (Cho et al.,
// arXiv:1406.1078) in both forms of its reset gate, LSTM (Hochreiter and Schmidhuber, 1997). Differentiable.
// Thread-safe. GRU and LSTM with the usual activations, dropout or not, are computed by linac's own kernels on the CPU
// (recurrent_kernel.h), the rest step by step on LibTorch's tensors, masked steps included.

#include <span>

#include "linac/model/nn/layers.h"

namespace linac::nn {

/// Of two layers in one the draws of their dropouts.
enum class DrawsOf { kFirst, kSecond };

struct RecurrentResult {
  at::Tensor output;  // (N, U) or, with return_sequences, (N, T, U) in the order in which steps are read
  std::vector<at::Tensor>
      states;  // after the last step that counts, (N, U): h, of an LSTM c; if the layer returns them and somebody reads
};

/// `layer`: the recurrent layer's node (perhaps inside another); x (N, T, F) and the mask are those of `call`.
/// `initial`: the states to begin with, (N, U) each; zeros if there are none. A masked step leaves the state as it is;
/// its output repeats the one before (zeros if there is none), or is zero. In training values of x and of the state are
/// dropped as the layer says, for all steps alike; user error for a rate that is not below 1.
RecurrentResult run_recurrent(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights,
                              std::span<const at::Tensor> initial, bool zero_masked_steps,
                              DrawsOf draws = DrawsOf::kFirst);

/// The layer's own word on it.
bool zeroes_masked_steps(const graph::Node& layer);

}  // namespace linac::nn
