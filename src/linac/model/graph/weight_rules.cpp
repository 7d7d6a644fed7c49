#include "linac/model/graph/weight_rules.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "linac/model/graph/layers/attributes.h"

namespace linac::graph {
namespace {

using nlohmann::json;

constexpr const char* kRegularizer = "_regularizer";
constexpr const char* kConstraint = "_constraint";
constexpr const char* kActivityRegularizer = "activity_regularizer";

// Keras's names of settings are not quite those of weights.
bool concerns(const Node& node, const std::string& what, const std::string& weight) {
  if (node.op == "MultiHeadAttention") return weight.ends_with("_" + what);
  if (what == "depthwise") return weight == "kernel";
  return weight == what || weight == what + "_kernel";
}

// "axis" is a number, a list or null for all of them.
std::vector<int64_t> constrained_axes(const Node& node, const json& axis, const Weight& weight) {
  const auto rank = static_cast<int64_t>(weight.shape.size());
  std::set<int64_t> axes;
  for (int64_t i = 0; axis.is_null() && i < rank; ++i) axes.insert(i);
  for (const json& one : axis.is_array() ? axis : axis.is_null() ? json::array() : json::array({axis})) {
    if (!one.is_number_integer() || one < -rank || one >= rank) {
      refuse(node, fmt::format("has a constraint over the axis {} of weight '{}', which is {}", one.dump(), weight.name,
                               to_string(weight.shape)));
    }
    axes.insert((one.get<int64_t>() + rank) % rank);
  }
  return {axes.begin(), axes.end()};
}

void apply_rule(const Node& node, const std::string& attribute, const json& rule, Weight& weight) {
  if (attribute.ends_with(kRegularizer)) {
    weight.l1 = rule.value("l1", 0.0);
    weight.l2 = rule.value("l2", 0.0);
  } else if (rule.value("non_negative", false)) {
    weight.constraint = {.non_negative = true};
  } else {
    weight.constraint = {.axes = constrained_axes(node, rule.value("axis", json(0)), weight),
                         .min = rule.value("min", 0.0),
                         .max = rule.value("max", 0.0),
                         .rate = rule.value("rate", 1.0)};
    if (!(0 <= weight.constraint->min && weight.constraint->min <= weight.constraint->max))
      refuse(node, fmt::format("has a constraint of norms between {} and {}", weight.constraint->min,
                               weight.constraint->max));
  }
}

}  // namespace

bool is_weight_rule(const std::string& attribute) {
  return attribute.ends_with(kConstraint) || (attribute.ends_with(kRegularizer) && attribute != kActivityRegularizer);
}

void apply_weight_rules(Node& node) {
  for (const auto& [attribute, rule] : node.attributes.items()) {
    if (!is_weight_rule(attribute)) continue;
    const std::string what = attribute.substr(0, attribute.rfind('_'));
    bool found = false;
    for (Weight& weight : node.weights) {
      if (!concerns(node, what, weight.name)) continue;
      apply_rule(node, attribute, rule, weight);
      found = true;
    }
    if (!found && flag(node, "use_bias", true)) refuse(node, fmt::format("has nothing that {} could mean", attribute));
  }
}

std::optional<ActivityPenalty> activity_penalty(const Node& node) {
  const auto found = node.attributes.find(kActivityRegularizer);
  const bool layer = node.op == "ActivityRegularization";
  if (!layer && found == node.attributes.end()) return std::nullopt;
  const json& given = layer ? node.attributes : *found;
  const ActivityPenalty penalty{given.value("l1", 0.0), given.value("l2", 0.0)};
  return penalty.l1 == 0 && penalty.l2 == 0 ? std::nullopt : std::optional(penalty);
}

bool has_penalty(const Graph& graph) {
  return std::any_of(graph.nodes.begin(), graph.nodes.end(), [](const Node& node) {
    return activity_penalty(node).has_value() ||
           std::any_of(node.weights.begin(), node.weights.end(),
                       [](const Weight& weight) { return weight.l1 != 0 || weight.l2 != 0; });
  });
}

}  // namespace linac::graph
