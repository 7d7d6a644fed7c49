#pragma once
// How each layer class of model/graph/layers.h is computed: the table that Executable::run walks, by families in
// layers/. Immutable, thread-safe.

#include <ATen/ATen.h>

#include <functional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/nn/executable.h"

namespace linac::nn {

/// One node's call. Tensors are (N, shape...) in Keras's axes, with any strides; images usually lie so that their NCXYZ
/// view has the strides of channels last.
struct LayerCall {
  const graph::Node& node;
  const std::vector<at::Tensor>& inputs;
  const std::vector<at::Tensor>& weights;
  const RunOptions& options;
  RngKey dropout_key;  // of this node
  /// Where the node's batch statistics go in training, one a weight that is not trained; empty if not asked for.
  std::vector<std::span<float>> statistics;
  Kernels kernels = Kernels::kLinac;  // for recurrent layers, and convolutions on a GPU
  Precision precision = Precision::kFloat;
  /// Which steps count, (N, steps) of bool, one an input; undefined where all do.
  std::vector<at::Tensor> masks;
  at::Tensor own_mask;                      // of the output (output_mask)
  std::vector<at::Tensor>* more = nullptr;  // where outputs 1, 2, ... go; null if nobody reads them

  bool training() const { return options.mode == Mode::kTraining; }
  const at::Tensor& x() const { return inputs[0]; }
  const at::Tensor& mask() const { return masks[0]; }
};

using LayerFunction = at::Tensor (*)(const LayerCall&);
using NamedLayer = std::pair<std::string, LayerFunction>;

/// Throws an internal error for a class without an entry; a test holds the table against graph::layer_names().
LayerFunction layer_function(const std::string& op);

/// The mask of a node's output, as Keras hands it on (compute_mask of each class); undefined for none.
at::Tensor output_mask(const LayerCall& call);

/// Whether any feature of a step differs from `value`: bool, without the last axis of x.
at::Tensor steps_unlike(const at::Tensor& x, float value);

}  // namespace linac::nn
