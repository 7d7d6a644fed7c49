#include "linac/model/graph/constraints.h"

#include <algorithm>
#include <cmath>

namespace linac::graph {
namespace {

/// The place of each value without the axes that the norms are taken over.
std::vector<size_t> norms_of_values(const Shape& shape, const std::vector<int64_t>& axes) {
  std::vector<size_t> norms(axes.empty() ? 0 : static_cast<size_t>(elements(shape)));
  for (size_t i = 0; i < norms.size(); ++i) {
    int64_t rest = static_cast<int64_t>(i), step = 1, norm = 0;
    for (auto axis = static_cast<int64_t>(shape.size()) - 1; axis >= 0; --axis) {
      const int64_t extent = shape[static_cast<size_t>(axis)], at = rest % extent;
      rest /= extent;
      if (std::find(axes.begin(), axes.end(), axis) != axes.end()) continue;
      norm += at * step;
      step *= extent;
    }
    norms[i] = static_cast<size_t>(norm);
  }
  return norms;
}

void bound_norms(const ConstrainedSlot& constrained, std::span<float> values) {
  constexpr double kEpsilon = 1e-7;  // Keras's
  const auto& [slot, constraint, norms] = constrained;
  std::vector<double> factors(1 + *std::max_element(norms.begin(), norms.end()));
  for (size_t i = 0; i < values.size(); ++i) factors[norms[i]] += double{values[i]} * double{values[i]};
  for (double& factor : factors) {
    const double norm = std::sqrt(factor), bounded = std::clamp(norm, constraint.min, constraint.max);
    factor = (constraint.rate * bounded + (1 - constraint.rate) * norm) / (kEpsilon + norm);
  }
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(values[i] * factors[norms[i]]);
}

}  // namespace

std::vector<ConstrainedSlot> constrained_slots(const Graph& graph, const Layout& trainable) {
  std::vector<ConstrainedSlot> constrained;
  for (const Node& node : graph.nodes) {
    for (const Weight& weight : node.weights) {
      if (!weight.trainable || !weight.constraint) continue;
      constrained.push_back({trainable.find(node.name + "/" + weight.name), *weight.constraint,
                             norms_of_values(weight.shape, weight.constraint->axes)});
    }
  }
  return constrained;
}

void enforce(const std::vector<ConstrainedSlot>& constrained, std::span<float> trainable) {
  for (const ConstrainedSlot& one : constrained) {
    const auto values = trainable.subspan(static_cast<size_t>(one.slot.offset), static_cast<size_t>(one.slot.size));
    if (one.constraint.non_negative) {
      for (float& value : values) value = std::max(value, 0.0F);
    } else if (!one.norms.empty()) {
      bound_norms(one, values);
    }
  }
}

}  // namespace linac::graph
