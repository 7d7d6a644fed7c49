#pragma once
// Where NaN and Inf begin in a network. Pure, thread-safe.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"

namespace linac::models {

/// In one batch. An output leads back, from what is not finite to what is not finite, to a layer that reads finite
/// values and hands on others.
struct NotFinite {
  std::vector<int64_t> events;  // of the batch, for which the layer does that; rising
  std::string layer;            // "layer 'pool' (GlobalAveragePooling1D)"
  float largest = 0;            // what the layer reads, and its weights, go up to; infinite if a weight is not finite
  std::vector<std::string> empty;  // inputs of the model that hold zeros alone in the first of the events
};

/// `inputs`: a buffer an input, (events, shape...). With a key as in training, else as in prediction. Nothing where all
/// outputs are finite, and of somebody else's code, which has no layers.
std::optional<NotFinite> find_not_finite(const graph::Graph& graph, const graph::Parameters& parameters,
                                         const std::vector<std::span<const float>>& inputs, int64_t events,
                                         const std::optional<RngKey>& training);

/// For people: what of the first event has to do with it, and what to do about it in a training.
std::string reason_of(const NotFinite& found);
std::string advice_for_training(const NotFinite& found);

}  // namespace linac::models
