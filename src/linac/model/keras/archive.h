#pragma once
// Models in Keras's own files. The `.keras` archive of Keras 3 is a zip of metadata.json, config.json and
// model.weights.h5; what is written loads with keras.models.load_model in Keras 3.3 and later, and the same model
// always gives the same bytes. Read are also the HDF5 files of Keras 2, and JSON with weights. Reading trusts nothing
// in a file. Safe from several threads.

#include <filesystem>
#include <nlohmann/json.hpp>
#include <vector>

#include "linac/model/graph/graph.h"
#include "linac/model/keras/optimizer.h"

namespace linac::keras {

/// What a written model takes along for Keras to train it further.
struct Training {
  nlohmann::json compile;                    // compile.h
  std::vector<OptimizerVariable> optimizer;  // may be empty
};

/// Writes graph and weights, replacing `path` as a whole or not at all. `extra` goes along as the member linac.json,
/// which Keras does not look at; null leaves it out. User error for layers that Keras has no class for (ShowerAngle,
/// ...): leave them out with prune(). Environment error if the file cannot be written. Without
/// `training` the model is not compiled.
void write_keras(const graph::Graph& graph, const graph::WeightValues& weights, const std::filesystem::path& path,
                 const nlohmann::json& extra, const Training& training = {});

/// The nodes that hold weights, one a layer, as Keras lists the layers of the file that write_keras() makes: the order
/// of the optimiser's variables.
std::vector<int> written_order(const graph::Graph& graph);

struct KerasModel {
  graph::Graph graph;           // shapes inferred
  graph::WeightValues weights;  // in Keras's own axes
  nlohmann::json extra;         // null if the archive has none
  nlohmann::json compile;       // Keras's compile_config (compile.h); null if the model was not compiled
  std::vector<int> order;       // the nodes that hold weights, one a layer, as the file lists the layers
};

/// The files of what read_keras() takes: the path itself, or both of "model.json+weights.h5".
std::vector<std::filesystem::path> files_of(const std::filesystem::path& model);

/// A .keras archive, an .h5 or .hdf5 file of model.save() as Keras 2 wrote it, or "model.json+weights.h5", which is
/// read_keras_parts() of the two paths around the plus. User error naming file and layer if the file is damaged or
/// holds what linac does not have.
KerasModel read_keras(const std::filesystem::path& path);

/// Fills in the values of the optimiser's variables, whose names and shapes are given; the learning rate and "product"
/// stay as they are where a file of Keras 2 lacks them. False if the file has none: it was not trained. User error
/// naming the file if it has others.
bool read_keras_optimizer(const std::filesystem::path& path, std::vector<OptimizerVariable>& variables);

/// The file of model.to_json() with that of model.save_weights(), of Keras 2 or 3. Not compiled.
KerasModel read_keras_parts(const std::filesystem::path& architecture, const std::filesystem::path& weights);

}  // namespace linac::keras
