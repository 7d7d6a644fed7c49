#pragma once
// The weights of a graph as two flat buffers: what the optimiser changes, and the running statistics. One buffer each
// makes a gradient one message, an optimiser step one loop and a checkpoint one write. Values keep Keras's axes. Not
// thread-safe while written.

#include <span>
#include <string>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/model/graph/graph.h"

namespace linac::graph {

/// Where one weight lives in a flat buffer. Offsets are multiples of 16 floats (a cache line); the gaps hold zeros.
struct Slot {
  std::string name;  // "conv_1/kernel"
  Shape shape;
  int64_t offset = 0;
  int64_t size = 0;
};

struct Layout {
  std::vector<Slot> slots;
  int64_t total = 0;  // floats in the buffer, gaps included

  void add(const std::string& name, const Shape& shape);
  /// Throws a user error naming the layer if there is no such slot.
  const Slot& find(const std::string& name) const;
};

struct Parameters {
  Layout trainable_layout, statistics_layout;
  AlignedFloats trainable, statistics;

  /// Zero-filled buffers for the weights of `graph`.
  static Parameters of(const Graph& graph);

  std::span<float> values(const std::string& name);
  std::span<const float> values(const std::string& name) const;
};

/// Draws initial values as Keras's initialisers of the same name define them (keras.io/api/layers/initializers), from
/// the stream (seed, kInit, lane): the same on every worker.
void initialize(const Graph& graph, uint64_t seed, uint32_t lane, Parameters& out);

/// What the weights add to the loss (Weight::l1, l2), times `share`; its gradient is added to `gradient`, a buffer of
/// the trainable layout. As in Keras, frozen weights add nothing.
double add_penalty(const Graph& graph, const Parameters& parameters, double share, std::span<float> gradient);

/// How the running statistics take up those of a batch, value by value: new = kept x old + added x the batch's.
struct StatisticsUpdate {
  std::vector<float> kept, added;
};
/// A BatchNormalization layer keeps its `momentum` of the old ones at each of its calls; what is not learned from
/// batches (Normalization) stays as it is. Of a kForeignModule the batch's are changes, to be added: what it does not
/// change keeps every bit.
StatisticsUpdate statistics_update(const Graph& graph, const Parameters& parameters);

/// By node: how much of a layer's statistics of the batch this call of it is, where each call moves the running ones in
/// turn; 1 of what is called once.
std::vector<float> statistics_shares(const Graph& graph);

/// To and from the one-buffer-a-weight form that the Keras archive uses.
WeightValues to_weight_values(const Graph& graph, const Parameters& parameters);
Parameters from_weight_values(const Graph& graph, const WeightValues& values);

}  // namespace linac::graph
