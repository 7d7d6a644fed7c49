#include "linac/model/graph/parameters.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/model/graph/calls.h"
#include "linac/model/graph/layers.h"

namespace linac::graph {
namespace {

constexpr int64_t kSlotFloats = static_cast<int64_t>(kAlignmentBytes / sizeof(float));

std::string slot_name(const Node& node, const Weight& weight) {
  return node.name + "/" + weight.name;
}

struct Fans {
  double in, out;
};

// Keras: the last two axes are input and output, those before are the receptive field.
Fans fans(const Shape& shape) {
  if (shape.size() < 2) return {static_cast<double>(elements(shape)), static_cast<double>(elements(shape))};
  double field = 1;
  for (size_t i = 0; i + 2 < shape.size(); ++i) field *= static_cast<double>(shape[i]);
  return {field * static_cast<double>(shape[shape.size() - 2]), field * static_cast<double>(shape.back())};
}

void fill_uniform_within(const RngKey& key, double limit, std::span<float> out) {
  fill_uniform(key, out);
  for (float& value : out) value = static_cast<float>((2.0 * value - 1.0) * limit);
}

// Normal cut at two standard deviations; drawn again where outside.
void fill_truncated_normal(const RngKey& key, double deviation, std::span<float> out) {
  constexpr int kSpare = 4;  // draws a value; four outside in a row have a chance of 4e-6 and are then cut
  std::vector<float> normal(out.size() * kSpare);
  fill_normal(key, normal);
  for (size_t i = 0; i < out.size(); ++i) {
    float value = normal[i * kSpare];
    for (int spare = 1; spare < kSpare && std::abs(value) > 2; ++spare)
      value = normal[i * kSpare + static_cast<size_t>(spare)];
    out[i] = static_cast<float>(std::clamp<double>(value, -2, 2) * deviation);
  }
}

// The rows (or the columns, where there are fewer) of a normal matrix made orthonormal, one after the other: the Q of
// its QR decomposition with a positive diagonal in R (Saxe et al., arXiv:1312.6120).
void fill_orthogonal(const RngKey& key, const Shape& shape, std::span<float> out) {
  const auto columns = static_cast<size_t>(shape.empty() ? 1 : shape.back()), rows = out.size() / columns;
  const size_t vectors = std::min(rows, columns), length = std::max(rows, columns);
  fill_normal(key, out);
  std::vector<double> basis(out.begin(), out.end());  // [vector][element]
  for (size_t i = 0; i < vectors; ++i) {
    double* const vector = basis.data() + i * length;
    // Twice: once leaves what rounding brought back.
    for (int pass = 0; pass < 2; ++pass) {
      for (size_t j = 0; j < i; ++j) {
        const double* const other = basis.data() + j * length;
        const double along = std::inner_product(vector, vector + length, other, 0.0);
        for (size_t k = 0; k < length; ++k) vector[k] -= along * other[k];
      }
    }
    const double norm = std::sqrt(std::inner_product(vector, vector + length, vector, 0.0));
    for (size_t k = 0; k < length; ++k) vector[k] /= norm;
  }
  for (size_t i = 0; i < vectors; ++i) {
    for (size_t k = 0; k < length; ++k)
      out[rows < columns ? i * columns + k : k * columns + i] = static_cast<float>(basis[i * length + k]);
  }
}

void initialize_weight(const Weight& weight, const RngKey& key, const std::string& name, std::span<float> out) {
  const Fans fan = fans(weight.shape);
  const std::string& kind = weight.initializer;
  // Standard deviation of a unit normal cut at +-2.
  constexpr double kTruncated = 0.87962566103423978;
  if (kind == "zeros") {
    std::fill(out.begin(), out.end(), 0.0F);
  } else if (kind == "ones") {
    std::fill(out.begin(), out.end(), 1.0F);
  } else if (kind == "he_uniform") {
    fill_uniform_within(key, std::sqrt(6 / fan.in), out);
  } else if (kind == "glorot_uniform") {
    fill_uniform_within(key, std::sqrt(6 / (fan.in + fan.out)), out);
  } else if (kind == "he_normal") {
    fill_truncated_normal(key, std::sqrt(2 / fan.in) / kTruncated, out);
  } else if (kind == "glorot_normal") {
    fill_truncated_normal(key, std::sqrt(2 / (fan.in + fan.out)) / kTruncated, out);
  } else if (kind == "lecun_uniform") {
    fill_uniform_within(key, std::sqrt(3 / fan.in), out);
  } else if (kind == "lecun_normal") {
    fill_truncated_normal(key, std::sqrt(1 / fan.in) / kTruncated, out);
  } else if (kind == "uniform" || kind == "random_uniform") {
    fill_uniform_within(key, 0.05, out);
  } else if (kind == "random_normal") {
    fill_normal(key, out);
    for (float& value : out) value *= 0.05F;
  } else if (kind == "truncated_normal") {
    fill_truncated_normal(key, 0.05, out);
  } else if (kind == "orthogonal") {
    fill_orthogonal(key, weight.shape, out);
  } else if (kind == "unit_forget_bias") {  // of an LSTM: its second quarter
    std::fill(out.begin(), out.end(), 0.0F);
    std::fill_n(out.begin() + static_cast<int64_t>(out.size() / 4), out.size() / 4, 1.0F);
  } else {
    throw user_error(
        fmt::format("[graph] weight '{}': initializer '{}' is not known (zeros, ones, he_uniform, he_normal, "
                    "glorot_uniform, glorot_normal, lecun_uniform, lecun_normal, random_uniform, random_normal, "
                    "truncated_normal, orthogonal)",
                    name, kind));
  }
}

template <class Visit>
void for_each_weight(const Graph& graph, const Visit& visit) {
  for (const Node& node : graph.nodes) {
    for (const Weight& weight : node.weights) visit(weight, slot_name(node, weight));
  }
}

}  // namespace

void Layout::add(const std::string& name, const Shape& shape) {
  slots.push_back({name, shape, total, elements(shape)});
  total += (elements(shape) + kSlotFloats - 1) / kSlotFloats * kSlotFloats;
}

const Slot& Layout::find(const std::string& name) const {
  for (const Slot& slot : slots) {
    if (slot.name == name) return slot;
  }
  throw user_error(fmt::format("[graph] no weight '{}' in this model", name));
}

Parameters Parameters::of(const Graph& graph) {
  Parameters made;
  for_each_weight(graph, [&](const Weight& weight, const std::string& name) {
    (weight.trainable ? made.trainable_layout : made.statistics_layout).add(name, weight.shape);
  });
  made.trainable.resize(static_cast<size_t>(made.trainable_layout.total));
  made.statistics.resize(static_cast<size_t>(made.statistics_layout.total));
  return made;
}

std::span<float> Parameters::values(const std::string& name) {
  for (const Slot& slot : statistics_layout.slots) {
    if (slot.name == name)
      return std::span(statistics).subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size));
  }
  const Slot& slot = trainable_layout.find(name);
  return std::span(trainable).subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size));
}

std::span<const float> Parameters::values(const std::string& name) const {
  return const_cast<Parameters*>(this)->values(name);
}

void initialize(const Graph& graph, uint64_t seed, uint32_t lane, Parameters& out) {
  uint32_t index = 0;
  for_each_weight(graph, [&](const Weight& weight, const std::string& name) {
    const RngKey key{.seed = seed, .stream = Stream::kInit, .lane = lane, .step = index++};
    initialize_weight(weight, key, name, out.values(name));
  });
}

double add_penalty(const Graph& graph, const Parameters& parameters, double share, std::span<float> gradient) {
  double penalty = 0;
  for (const Node& node : graph.nodes) {
    for (const Weight& weight : node.weights) {
      if (!weight.trainable || (weight.l1 == 0 && weight.l2 == 0)) continue;
      const Slot& slot = parameters.trainable_layout.find(slot_name(node, weight));
      const auto place = static_cast<size_t>(slot.offset), size = static_cast<size_t>(slot.size);
      for (size_t i = place; i < place + size; ++i) {
        const double value = parameters.trainable[i];
        penalty += weight.l1 * std::abs(value) + weight.l2 * value * value;
        const double sign = static_cast<double>(value > 0) - static_cast<double>(value < 0);
        gradient[i] += static_cast<float>(share * (weight.l1 * sign + 2 * weight.l2 * value));
      }
    }
  }
  return share * penalty;
}

namespace {

/// The calls of each BatchNormalization that learn its statistics; empty for other nodes and further calls.
std::vector<std::vector<size_t>> calls_of_layers(const Graph& graph) {
  std::vector<std::vector<size_t>> calls(graph.nodes.size());
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const int shares = graph.nodes[i].shares;
    if (graph.nodes[i].op == "BatchNormalization" && !always_predicts(graph.nodes[i]))
      calls[shares < 0 ? i : static_cast<size_t>(shares)].push_back(i);
  }
  return calls;
}

float momentum_of(const Node& batch_normalization) {
  return batch_normalization.attributes.value("momentum", 0.99F);
}

}  // namespace

std::vector<float> statistics_shares(const Graph& graph) {
  std::vector<float> shares(graph.nodes.size(), 1.0F);
  for (const std::vector<size_t>& calls : calls_of_layers(graph)) {
    if (calls.size() < 2) continue;
    // What the first has moved is kept in part by the later ones.
    double sum = 0, kept = 1;
    for (auto call = calls.rbegin(); call != calls.rend(); ++call) {
      shares[*call] = static_cast<float>(kept);
      sum += kept;
      kept *= momentum_of(graph.nodes[*call]);
    }
    for (const size_t call : calls) shares[call] = static_cast<float>(shares[call] / sum);
  }
  return shares;
}

StatisticsUpdate statistics_update(const Graph& graph, const Parameters& parameters) {
  StatisticsUpdate update{.kept = std::vector<float>(parameters.statistics.size(), 1.0F),
                          .added = std::vector<float>(parameters.statistics.size(), 0.0F)};
  const std::vector<std::vector<size_t>> calls = calls_of_layers(graph);
  size_t next = 0;
  for (size_t i = 0; i < graph.nodes.size(); ++i) {
    const Node& node = graph.nodes[i];
    for (const Weight& weight : node.weights) {
      if (weight.trainable) continue;
      const Slot& slot = parameters.statistics_layout.slots.at(next++);
      if (node.op == kForeignModule) std::fill_n(update.added.begin() + slot.offset, slot.size, 1.0F);
      if (node.op == "BatchNormalization" && !is_frozen(node)) {
        float kept = 1;
        for (size_t call = 0; call < calls[i].size(); ++call) kept *= momentum_of(node);
        std::fill_n(update.kept.begin() + slot.offset, slot.size, kept);
        std::fill_n(update.added.begin() + slot.offset, slot.size, 1 - kept);
      }
    }
  }
  return update;
}

WeightValues to_weight_values(const Graph& graph, const Parameters& parameters) {
  WeightValues result;
  for_each_weight(graph, [&](const Weight&, const std::string& name) {
    const auto values = parameters.values(name);
    result.values.emplace_back(values.begin(), values.end());
  });
  return result;
}

Parameters from_weight_values(const Graph& graph, const WeightValues& values) {
  Parameters result = Parameters::of(graph);
  size_t index = 0;
  for_each_weight(graph, [&](const Weight&, const std::string& name) {
    LINAC_CHECK(index < values.values.size() && values.values[index].size() == result.values(name).size());
    std::copy(values.values[index].begin(), values.values[index].end(), result.values(name).begin());
    ++index;
  });
  return result;
}

}  // namespace linac::graph
