#pragma once
// Cross-entropies of outputs that are no probabilities yet. Pure, thread-safe.

#include <string>

#include "linac/model/graph/graph.h"

namespace linac::models {

/// Whether the loss applies the softmax or sigmoid to that output: if from_logits says so, and the output is not behind
/// one already. Keras (backend of TensorFlow) passes over from_logits then, too.
bool takes_logits(const graph::Graph& graph, size_t output, const std::string& loss, bool from_logits);

}  // namespace linac::models
