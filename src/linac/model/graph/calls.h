#pragma once
// What a call of a layer says beside its inputs, in attributes of the node. Pure, thread-safe.

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// False where the call computes in training what it computes in prediction (training=False in a file of Keras 2):
/// nothing is dropped or varied, and running statistics are used and stay as they are.
inline constexpr const char* kTraining = "training";

bool always_predicts(const Node& node);

/// Whether the last input of a MultiHeadAttention says which step sees which, (T, S) or one in place of either.
bool has_attention_mask(const Node& node);

}  // namespace linac::graph
