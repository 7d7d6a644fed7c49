#include "linac/model/models/logits.h"

#include "linac/model/graph/last_activation.h"

namespace linac::models {

bool takes_logits(const graph::Graph& graph, size_t output, const std::string& loss, bool from_logits) {
  if (!from_logits) return false;
  const std::string activation = graph::last_activation(graph, graph.outputs[output]);
  return activation != (loss.find("categorical_") != std::string::npos ? "softmax" : "sigmoid");
}

}  // namespace linac::models
