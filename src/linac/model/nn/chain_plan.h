#pragma once
// A ConvolutionChain as stages with their kernels: what a pass (chain_pass.h) walks through. Immutable once made.

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/blocked_image.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/nn/chain_halo.h"

namespace linac::nn {

/// A convolution with what is done to its output; the indices are those of its weights in the chain's, -1 for none.
struct Stage {
  std::unique_ptr<const kernels::BlockedConv3d> conv;
  kernels::BlockedExtent in, made, out;  // made: the convolution's image, of whose windows `out` keeps the largest
  kernels::Extent3 window{1, 1, 1};
  std::string layers, method;
  double flop = 0;
  int kernel = -1, bias = -1, gamma = -1, beta = -1, moving_mean = -1;  // the moving variance follows the mean
  bool frozen = false;  // the normalisation: by its moving statistics in training as well
  float slope = 1;      // of the activation below 0
  double epsilon = 0;
  double rate = 0;  // of dropout
  uint32_t lane = 0;
  bool all_parts = false;        // the normalisation: by what the images of all parts are like
  kernels::Extent3 drawn_for{};  // dropout: cells of the whole image, and where the own rows begin in it
  int64_t drawn_at[2] = {0, 0};
  std::optional<ChainHalo> halo{};  // what the next stage needs around `out`

  /// Of what is kept: `out`, or the rows of others around it too; and where in it a row of `out` lies.
  const kernels::BlockedExtent& frame() const { return halo ? halo->frame : out; }
  int64_t in_frame(int64_t x, int64_t y) const {
    return halo ? (x + halo->own.x[0]) * halo->frame.plane() + (y + halo->own.y[0]) * halo->frame.row()
                : x * out.plane() + y * out.row();
  }

  bool normalized() const { return moving_mean >= 0; }
  /// By the batch's own statistics, in training.
  bool by_batch() const { return normalized() && !frozen; }
  /// What the normalisation has among the chain's statistics: those, and its factors where they are frozen.
  size_t statistics() const { return !normalized() ? 0 : 2 + (frozen ? (gamma >= 0) + (beta >= 0) : 0); }
  bool dropped() const { return rate > 0; }
  bool pooled() const { return kernels::cells(window) > 1; }
  float kept() const { return static_cast<float>(1 / (1 - rate)); }
};

struct ChainPlan {
  /// `storage`: of the images and gradients between the stages.
  ChainPlan(const graph::Node& chain, const graph::Shape& input, kernels::Storage storage);

  kernels::BlockedExtent output;
  kernels::Storage storage;
  std::vector<Stage> stages;
  kernels::Extent3 pool{1, 1, 1};  // over the last stage's image

  bool pooled() const { return kernels::cells(pool) > 1; }
};

}  // namespace linac::nn
