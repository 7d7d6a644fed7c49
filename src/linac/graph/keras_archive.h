#pragma once
// Models in Keras's own file, the `.keras` archive of Keras 3: a zip of metadata.json, config.json and
// model.weights.h5. What is written loads with keras.models.load_model in Keras 3.3 and later, and the same model
// always gives the same bytes. Reading trusts nothing in the file. Safe from several threads.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "linac/graph/graph.h"

namespace linac::graph {

/// Writes graph and weights, replacing `path` as a whole or not at all. `extra` goes along as the member linac.json,
/// which Keras does not look at; null leaves it out. User error for layers that Keras has no class for (ShowerAngle,
/// ...): leave them out with prune(). Environment error if the file cannot be written.
void write_keras(const Graph& graph, const WeightValues& weights, const std::filesystem::path& path,
                 const nlohmann::json& extra);

struct KerasModel {
  Graph graph;           // shapes inferred
  WeightValues weights;  // in Keras's own axes
  nlohmann::json extra;  // null if the archive has none
};

/// User error naming file and layer if the file is damaged or holds what linac does not have.
KerasModel read_keras(const std::filesystem::path& path);

}  // namespace linac::graph
