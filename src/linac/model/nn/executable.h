#pragma once
// A graph made runnable on LibTorch tensors and differentiable by its autograd. Immutable after construction; run() may
// be called from several threads, each with its own Weights.
//
// Axes: N events, X Y Z cells, C channels, in Keras's order (N, X, Y, Z, C) everywhere. Layers that LibTorch computes
// on NCXYZ do so with strides of channels last, which is a view of the same memory.

#include <ATen/ATen.h>

#include <memory>
#include <optional>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/graph/split/part_link.h"
#include "linac/model/nn/device.h"

namespace linac::nn {

enum class Mode { kInference, kTraining };

/// The weights of a graph as tensors, by node and in the node's order.
struct Weights {
  std::vector<std::vector<at::Tensor>> nodes;
  std::vector<at::Tensor> trainable;  // the leaves, in the order of Parameters::trainable_layout
  std::shared_ptr<void> holder;       // of the tensors, where they live in something else (model/nn/plugin_module.h)
};

enum class Gradients { kNone, kWanted };

/// On the CPU `parameters` must outlive the result; the tensors alias it and must not be written. On a GPU they are a
/// copy. Where the thread's place (model/graph/place.h) has a copy of `parameters`, they alias that.
Weights make_weights(const graph::Graph& graph, const graph::Parameters& parameters, Gradients gradients,
                     Device device = Device::kCpu);

struct RunOptions {
  Mode mode = Mode::kInference;
  RngKey dropout_key = {};  // lane is offset by the node's index
  // In training: filled with mean and variance in the order of Parameters::statistics_layout.
  std::vector<float>* batch_statistics = nullptr;
  // Filled with the mask of each output, (N, steps...) of bool: which steps count; undefined where all do.
  std::vector<at::Tensor>* output_masks = nullptr;
  graph::PartLink* part = nullptr;                   // of a graph of split_graph(): how the part speaks with the others
  std::vector<at::Tensor>* dropout_masks = nullptr;  // for tests: the multipliers drawn by Dropout and inside of
                                                     // layers, and the numbers by which images vary
};

/// What computes the layers: linac's own kernels where they apply (on the CPU model/graph/passes/chain_convolutions.h,
/// on a GPU model/nn/cuda_conv.h), or LibTorch alone.
enum class Kernels { kLinac, kAten };

/// What linac's kernels keep between layers and, of recurrent ones, between steps for the backward pass; sums, weights
/// and what LibTorch computes are float.
enum class Precision { kFloat, kBfloat16 };

/// The graph after the passes: what an Executable computes.
graph::Graph as_run(graph::Graph graph, Kernels kernels, Device device);
/// By node, on the CPU: the lane of its random numbers; -1 where it has none, as what a pass has taken away. For
/// graph::split_graph, whose parts draw the same numbers.
std::vector<int> lanes_of(const graph::Graph& graph, Kernels kernels);

class ConvChain;

class Executable {
 public:
  explicit Executable(graph::Graph graph, Kernels kernels = Kernels::kLinac, Precision precision = Precision::kFloat,
                      Device device = Device::kCpu);
  Executable(Executable&&) noexcept;
  ~Executable();

  /// `inputs` in the order of the graph's inputs, each (N, shape...) in Keras's axes, on any device. Returns the
  /// outputs, (N, shape...) in Keras's axes, on this executable's.
  std::vector<at::Tensor> run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                              const RunOptions& options) const;

  Device device() const { return device_; }
  /// The graph as it is run, after the passes.
  const graph::Graph& graph() const { return graph_; }
  /// Of node i; null if it is not a ConvolutionChain.
  const ConvChain* chain(size_t i) const { return chains_[i].get(); }

 private:
  graph::Graph graph_;
  Kernels kernels_;
  Precision precision_;
  Device device_;
  std::vector<std::unique_ptr<const ConvChain>> chains_;
  std::vector<int> norms_;                                // model/graph/passes/fold_norms.h
  std::vector<std::optional<graph::Node>> when_applied_;  // in place of a node, in inference
  graph::Layout statistics_layout_;
  std::vector<std::vector<size_t>> statistics_slots_;  // of each node's layer
  std::vector<float> statistics_shares_;               // of each node's call of it
  std::vector<uint32_t> lanes_;                        // of each node's random numbers
  std::vector<bool> parts_read_;                       // of each node: whether a Part reads it
  std::vector<std::vector<size_t>> read_last_;         // of each node: whose values nobody reads behind it
};

}  // namespace linac::nn
