#pragma once
// The weights of a torch::nn::Module as linac keeps them. Not thread-safe per module.

#include <torch/nn/module.h>

#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/nn/foreign_module.h"

namespace linac::nn {

/// Parameters, then buffers, in torch's order; a parameter that wants no gradient counts as a buffer. In the module's
/// memory.
std::vector<ForeignWeight> weights_of(const torch::nn::Module& module);

/// Fills the module with the values; its trained parameters are then leaves that want gradients, or not. `graph` and
/// `parameters`: of weights_of() at the time the module was made (foreign_graph). Returns all weights in the graph's
/// order: the trained ones in the module's memory, copies of the others.
std::vector<at::Tensor> fill(torch::nn::Module& module, const graph::Graph& graph, const graph::Parameters& parameters,
                             Gradients gradients);

/// What has changed in the buffers since `filled` came from fill(), as graph::statistics_update wants it.
std::vector<float> changes_since(const torch::nn::Module& module, const graph::Graph& graph,
                                 const graph::Parameters& parameters, const std::vector<at::Tensor>& filled);

}  // namespace linac::nn
