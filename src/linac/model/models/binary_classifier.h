#pragma once
// A network with one output, the log-odds that an event is of the second of two samples, as a pure function of its
// weights: its scores and the gradient of its loss. Immutable; safe from several threads, each computing on its own
// (see torch_threads.h).

#include <memory>
#include <span>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/base/rng.h"
#include "linac/model/graph/parameters.h"

namespace linac::models {

class BinaryClassifier {
 public:
  /// One input and one output of shape (1).
  explicit BinaryClassifier(graph::Graph network);
  ~BinaryClassifier();

  const graph::Graph& network() const;

  /// Gradient of the mean binary cross-entropy in the layout of the trainable weights; dropout follows `key`.
  /// `inputs` [n][the input's shape], `labels` [n] 0 or 1, `weights` [n] of the events.
  AlignedFloats gradient(const graph::Parameters& parameters, std::span<const float> inputs,
                         std::span<const float> labels, std::span<const float> weights, const RngKey& key) const;

  /// Log-odds [n], in inference mode.
  std::vector<float> scores(const graph::Parameters& parameters, std::span<const float> inputs) const;

 private:
  struct Network;
  std::unique_ptr<Network> network_;
};

/// Two hidden layers over numbers: for the observables of a shower.
graph::Graph observables_classifier(int64_t features);
/// Two convolutions over a coarse image {x, y, z, 1}: for the cells of a shower.
graph::Graph cells_classifier(const graph::Shape& image);

}  // namespace linac::models
