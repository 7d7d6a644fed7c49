#pragma once
// How each layer class of graph/layers.h is computed: the table that Executable::run walks. Immutable, thread-safe.

#include <ATen/ATen.h>

#include <span>
#include <string>
#include <vector>

#include "linac/graph/graph.h"
#include "linac/nn/executable.h"

namespace linac::nn {

/// One node's call. Images are NCXYZ (strides of channels last), everything else (N, features).
struct LayerCall {
  const graph::Node& node;
  const std::vector<at::Tensor>& inputs;
  const std::vector<at::Tensor>& weights;
  const RunOptions& options;
  RngKey dropout_key;  // of this node
  /// Where the node's batch statistics go in training, one a weight that is not trained; empty if not asked for.
  std::vector<std::span<float>> statistics;
  Kernels kernels = Kernels::kLinac;  // for layers on a GPU
};

using LayerFunction = at::Tensor (*)(const LayerCall&);

/// Throws an internal error for a class without an entry; a test holds the table against graph::layer_names().
LayerFunction layer_function(const std::string& op);

}  // namespace linac::nn
