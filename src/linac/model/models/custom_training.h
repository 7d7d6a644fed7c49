#pragma once
// One replica's share of a training that a plug-in defines (plugin::Loop of model/plugin/plugin.h). Every function is
// pure in (weights, batch, key) and may be called from several threads, which take turns in the plug-in's code. On the
// CPU. Plain floats at the border, LibTorch inside.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/contribution.h"
#include "linac/model/models/foreign_model.h"

namespace linac::models {

class CustomTraining {
 public:
  /// What an update of the step is; see plugin::Update.
  struct Update {
    std::string name;
    size_t network;  // its index
    std::vector<std::string> losses;
  };
  struct Network {
    graph::Graph graph;
    graph::Parameters parameters;  // before the first step
  };
  /// Of all networks, in their order.
  using Weights = std::vector<const graph::Parameters*>;

  /// The initial weights are what the constructor draws from torch's generator, seeded by `seed`. User error naming the
  /// file for whatever the plug-in throws, and for networks, updates or names that do not fit together.
  CustomTraining(std::shared_ptr<const plugin::Library> library, uint64_t seed);
  ~CustomTraining();

  const std::vector<Network>& networks() const;
  const std::vector<Update>& updates() const;
  const std::vector<std::string>& measures() const;  // of a test
  /// What it reads, as the inputs of a graph without layers.
  const graph::Graph& columns() const;

  /// Update `index`. `share`: 1 / replicas; the losses are shares of the global batch's. User error if losses() returns
  /// something else than a scalar for each of the update's losses.
  Contribution update(size_t index, const Weights& weights, int64_t events,
                      const std::vector<std::span<const float>>& columns, const RngKey& key, double share) const;

  /// The measures of these events, times `share`.
  std::vector<float> test(const Weights& weights, int64_t events, const std::vector<std::span<const float>>& columns,
                          const RngKey& key, double share) const;

  /// What the plug-in itself leaves in the folder of the trained models.
  void hand_over(const Weights& weights, const std::filesystem::path& folder, const RngKey& key) const;

 private:
  struct Parts;
  std::unique_ptr<const Parts> parts_;
};

}  // namespace linac::models
