#pragma once
// What Keras's settings of a layer say of its weights and outputs beyond the computation: regularizers, which add to
// the loss, and constraints, which hold after each update. As attributes: "kernel_regularizer" {"l1", "l2"},
// "kernel_constraint" {"non_negative"} or {"min", "max", "rate", "axis"}, "activity_regularizer" {"l1", "l2"}. Pure,
// thread-safe.

#include <optional>
#include <string>

#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Whether an attribute of that name is a rule for weights.
bool is_weight_rule(const std::string& attribute);

/// Fills in what the rules among the node's attributes say of its weights. User error naming the layer for a rule that
/// no weight fits, or axes that the weight has not.
void apply_weight_rules(Node& node);

/// What the values of an output add to the loss of an event: l1 x the sum of |y|, l2 x the sum of y squared.
struct ActivityPenalty {
  double l1 = 0, l2 = 0;
};

/// Nothing if the layer adds nothing.
std::optional<ActivityPenalty> activity_penalty(const Node& node);

/// Whether a weight or an output of the graph adds to the loss.
bool has_penalty(const Graph& graph);

}  // namespace linac::graph
