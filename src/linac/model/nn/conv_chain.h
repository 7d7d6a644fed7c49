#pragma once
// A ConvolutionChain (model/graph/passes/chain_convolutions.h) on linac's own kernels: forward and backward of a whole
// run of convolutions in the blocked layout, one node of LibTorch's autograd. What is kept of a stage is its activated
// image; batch normalisation and dropout are applied when the next convolution reads it, bias, activation and
// statistics when a convolution writes it, each on a few rows that are in the cache.
//
// Immutable but for a store of buffers behind a lock; run() may be called from several threads at once. Uses the
// number of threads LibTorch is set to; no bit depends on it.

#include <memory>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/nn/layers.h"

namespace linac {
template <class T>
class Lender;
}

namespace linac::nn {

/// A stage as `linac check --explain` shows it.
struct StageReport {
  std::string layers;  // "conv_2 + leaky_2 + bn_2 + drop_2"
  std::string method;  // "direct", "spectral", "folded"
  double flop = 0;     // of the convolution by the direct algorithm, forward, an event
  graph::Shape output;
};

struct ChainPlan;
struct ChainBuffers;

class ConvChain {
 public:
  /// `storage`: of the images and gradients between the layers; the arithmetic is float in any case.
  ConvChain(const graph::Node& chain, const graph::Shape& input, kernels::Storage storage);
  ~ConvChain();

  /// call.weights: the layers' in their order. Image (N, C, X, Y, Z) with strides of channels last, in and out.
  at::Tensor run(const LayerCall& call) const;

  std::vector<StageReport> report() const;

 private:
  std::shared_ptr<const ChainPlan> plan_;
  std::shared_ptr<Lender<ChainBuffers>> buffers_;
};

}  // namespace linac::nn
