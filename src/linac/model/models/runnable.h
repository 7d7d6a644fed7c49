#pragma once
// A network however it is computed: a graph as models::Numerics say, or somebody else's code. Immutable; run() may be
// called from several threads, each with its own weights. For the sources of this module: it speaks in tensors.

#include <memory>
#include <optional>

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
  /// As nn::Executable::run.
  std::vector<at::Tensor> run(const nn::Weights& weights, const std::vector<at::Tensor>& inputs,
                              const nn::RunOptions& options) const;
  /// What is computed, for people; `given`: the graph before the passes.
  std::string explain(const graph::Graph& given) const;

 private:
  std::optional<nn::Executable> executable_;          // one of
  std::shared_ptr<const nn::ForeignModule> foreign_;  // the two
};

}  // namespace linac::models
