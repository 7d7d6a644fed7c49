#include "linac/model/graph/calls.h"

#include "linac/model/graph/layers/attributes.h"

namespace linac::graph {

bool always_predicts(const Node& node) {
  return !flag(node, kTraining, true);
}

bool has_attention_mask(const Node& node) {
  return node.op == "MultiHeadAttention" && flag(node, "attention_mask", false);
}

}  // namespace linac::graph
