#pragma once
// Recurrent layers as Keras defines them (keras.io/api/layers/recurrent_layers): SimpleRNN, GRU (Cho et al.,
// arXiv:1406.1078) in both forms of its reset gate, LSTM (Hochreiter and Schmidhuber, 1997). Differentiable.
// Thread-safe. GRU and LSTM with the usual activations, dropout or not, are computed by linac's own kernels on the CPU
// (recurrent_kernel.h), the rest step by step on LibTorch's tensors, masked steps included.

#include "linac/nn/layers.h"

namespace linac::nn {

/// Of two layers in one the draws of their dropouts.
enum class DrawsOf { kFirst, kSecond };

/// `layer`: the recurrent layer's node (perhaps inside another); x (N, T, F) and the mask are those of `call`. Returns
/// (N, U) or, with return_sequences, (N, T, U) in the order in which the steps are read. A masked step leaves the state
/// as it is; its output repeats the one before, or is zero. In training values of x and of the state are dropped as the
/// layer says, for all steps alike; user error for a rate that is not below 1.
at::Tensor run_recurrent(const LayerCall& call, const graph::Node& layer, const std::vector<at::Tensor>& weights,
                         bool zero_masked_steps, DrawsOf draws = DrawsOf::kFirst);

/// The layer's own word on it.
bool zeroes_masked_steps(const graph::Node& layer);

}  // namespace linac::nn
