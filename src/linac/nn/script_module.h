#pragma once
// A TorchScript module as a network of linac: its parameters and buffers become the two flat buffers, a run puts
// tensors in their place and calls forward(). Immutable after construction; run() may be called from several threads,
// each with its own Weights. A training run holds a lock of the process while forward() draws random numbers, because
// TorchScript has one generator: it is seeded by the run's key, so the numbers do not depend on who runs beside whom.

#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "linac/graph/graph.h"
#include "linac/graph/parameters.h"
#include "linac/nn/executable.h"

namespace linac::nn {

/// An argument of forward(): the shape leaves the axis of the events out.
struct ScriptInput {
  std::string name;
  graph::Shape shape;
};

class ScriptModule {
 public:
  /// User error naming the file if it is no TorchScript, if forward() takes other arguments than `inputs` by name (in
  /// any order), returns something else than tensors of floats, or fails on two events of zeros.
  ScriptModule(const std::filesystem::path& path, const std::vector<ScriptInput>& inputs);
  ~ScriptModule();

  /// Input layers in the order of forward()'s arguments, one node "TorchScript" that holds all weights, and a node for
  /// each output, called "output" or "output_0", ... For describing; not for Executable.
  const graph::Graph& graph() const;
  /// As the file has them.
  const graph::Parameters& parameters() const;

  /// As Executable::run. In training the batch statistics are the buffers after the call (running statistics that
  /// forward() has updated by its own momentum).
  std::vector<at::Tensor> run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                              const RunOptions& options) const;

  /// Writes the module with these weights, replacing `path` as a whole. Environment error if that fails.
  void save(const graph::Parameters& parameters, const std::filesystem::path& path) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace linac::nn
