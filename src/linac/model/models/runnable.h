#pragma once
// A network however it is computed: a graph as models::Numerics say, perhaps in parts, or somebody else's code.
// Immutable; run() may be called from several threads, each with its own weights. For the sources of this module: it
// speaks in tensors.

#include <memory>
#include <string>
#include <vector>

#include "linac/model/models/foreign_model.h"
#include "linac/model/models/numerics.h"
#include "linac/model/nn/executable.h"

namespace linac::models {

class Runnable {
 public:
  Runnable(graph::Graph graph, const Numerics& numerics);
  explicit Runnable(const ForeignModel& model);
  Runnable(Runnable&&) noexcept;
  ~Runnable();

  nn::Device device() const;
  /// As nn::make_weights, of parameters of the network as it was given; kept for one run.
  nn::Weights weights(const graph::Parameters& parameters, nn::Gradients gradients) const;
  /// As nn::Executable::run; of a divided network the part that options.part says.
  std::vector<at::Tensor> run(const nn::Weights& weights, const std::vector<at::Tensor>& inputs,
                              const nn::RunOptions& options) const;
  /// What is computed, for people; `given`: the graph before the passes.
  std::string explain(const graph::Graph& given) const;
  /// How the network is divided, in some lines; empty without parts.
  const std::string& division() const { return division_in_brief_; }
  /// By slot of the trainable weights: whether each part of a divided network has the whole gradient, not a share of
  /// it (graph::SplitGraph). Empty without parts.
  const std::vector<bool>& whole_weights() const { return whole_weights_; }

 private:
  std::vector<nn::Executable> executables_;           // one, or one a part; or
  std::shared_ptr<const nn::ForeignModule> foreign_;  // somebody else's
  std::vector<bool> whole_weights_;
  std::string division_, division_in_brief_;  // in words
};

}  // namespace linac::models
