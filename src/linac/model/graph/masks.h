#pragma once
// What each layer class does with the masks of its inputs, as Keras's compute_mask of the class has it. A mask says
// which steps of a sequence count; it travels beside the values. Pure, thread-safe.

#include "linac/model/graph/graph.h"

namespace linac::graph {

enum class MaskRule {
  kDrops,         // the output has none
  kMakes,         // from its values: Masking, Embedding
  kHandsOn,       // that of the input, as long as the output has its axes
  kJoins,         // a step counts if it does in one of the inputs, and all have a mask
  kConcatenates,  // the masks of the inputs along the joined axis, all true for one without
};

/// Whether a recurrent layer that is given initial states follows the mask of its sequence. In Keras 3 it does not,
/// unless the mask is given by name: a call with several tensors is handed none. In Keras 2 it does
/// ("mask_with_states").
bool masks_steps(const Node& recurrent);

/// What is in no list drops its masks, as Keras does (with a warning).
MaskRule mask_rule(const Node& node);

/// Whether the output of a node comes with a mask.
bool has_mask(const Graph& graph, int node);

}  // namespace linac::graph
