#pragma once
// A network whose inside linac does not see: a TorchScript file (script_module.h), a program of torch.export
// (exported/exported_module.h) or a model of a plug-in (plugin_module.h). Its parameters and buffers become the two
// flat buffers; a run puts values in their place and calls forward(). Immutable after construction; run() may be called
// from several threads, each with its own Weights. On the CPU.

#include <ATen/ATen.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/nn/executable.h"
#include "linac/model/pt2/program.h"

namespace linac::nn {

/// An argument of forward(): the shape leaves the axis of the events out.
struct ForeignInput {
  std::string name;
  graph::Shape shape;
};

/// A parameter (trainable if it wants a gradient) or a buffer.
struct ForeignWeight {
  std::string name;
  at::Tensor value;
  bool trainable = true;
};

/// Input layers and one node that holds all weights, called "module": for describing and for bookkeeping, not for
/// Executable. Weights of another type than float (BatchNorm's count of batches) are left out. User error, naming
/// `name`, if a weight is not on the CPU.
graph::Graph foreign_graph(const std::string& name, const std::vector<ForeignInput>& inputs,
                           const std::vector<ForeignWeight>& weights);
/// The values of the weights, for the graph made of them.
graph::Parameters foreign_parameters(const graph::Graph& graph, const std::vector<ForeignWeight>& weights);

/// What a call has changed in the buffers, as a flat buffer of that layout.
std::vector<float> changes(const graph::Layout& statistics, const std::vector<at::Tensor>& before,
                           const std::vector<at::Tensor>& after);

class ForeignModule {
 public:
  virtual ~ForeignModule() = default;

  /// See foreign_graph; and a node for each output, called "output" or "output_0", ...
  const graph::Graph& graph() const { return graph_; }
  /// As the file has them, or as the constructors of the plug-in drew them.
  const graph::Parameters& parameters() const { return parameters_; }

  /// As nn::make_weights; kept for one run.
  virtual Weights weights(const graph::Parameters& parameters, Gradients gradients) const = 0;
  /// As Executable::run. In training the batch statistics are the changes of the buffers by the call (running
  /// statistics that forward() has updated by its own momentum): graph::statistics_update.
  virtual std::vector<at::Tensor> run(const Weights& weights, const std::vector<at::Tensor>& inputs,
                                      const RunOptions& options) const = 0;

  /// Writes the model with these weights, if this kind has a file of its own; `notes` travel along. `path` without the
  /// ending, which the kind knows. Returns the file, which it replaces as a whole. Environment error if that fails.
  virtual std::optional<std::filesystem::path> save(const graph::Parameters& parameters,
                                                    const std::filesystem::path& path,
                                                    const std::string& notes) const = 0;

  /// The operators that the file holds, with its weights, where its kind says them in no file of its own that others
  /// read. User error if they cannot be told.
  virtual std::optional<pt2::WeightedProgram> program() const { return std::nullopt; }

  /// What whoever trains it should know, or nothing.
  virtual std::string remark() const { return ""; }

 protected:
  /// First thing in a constructor.
  void describe(const std::string& name, const std::vector<ForeignInput>& inputs,
                const std::vector<ForeignWeight>& weights);
  /// Last thing: outputs are found by a look at what comes out of two events of zeros. User error if that are no floats
  /// (events, ...).
  void find_outputs();

  const std::vector<graph::Weight>& weight_list() const { return graph_.nodes[graph_.inputs.size()].weights; }

 private:
  graph::Graph graph_;
  graph::Parameters parameters_;
};

}  // namespace linac::nn
