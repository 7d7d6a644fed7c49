#pragma once
// A trained model of any kind, ready to judge events, and what it knows of them. Thread-safe functions.

#include <filesystem>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>

#include "linac/model/keras/archive.h"
#include "linac/model/models/foreign_model.h"
#include "linac/model/models/predictor.h"
#include "linac/train/trained/network.h"

namespace linac::trained {

struct TrainedModel {
  /// Its outputs are in the units of the files that it was trained on.
  std::unique_ptr<const models::Predictor> network;
  /// {"job", "inputs", "targets", "classes"} where linac trained it (labelled_data.h), so that nobody has to say which
  /// columns it reads; null otherwise.
  nlohmann::json notes;
  graph::Graph graph;
  nlohmann::json compile;  // Keras's compile_config (model/keras/compile.h); null where the file has none
};

/// Finds shapes for the inputs of a model that leaves sizes open.
using FindShapes = std::function<std::vector<graph::Shape>(const graph::Graph& model)>;

/// A model that leaves sizes open gets those that it was trained with; one that linac has not trained those that `find`
/// says, or it keeps the provisional ones (model/graph/open_sizes.h).
void close_sizes(keras::KerasModel& model, const FindShapes& find = {});

/// A file that read_keras() takes, a TorchScript file, a .pt2 or weights of a plug-in's model that linac trained, or
/// the folder of a run that came to its end; files also by URL. User error if it is none of them.
TrainedModel load_trained(const std::filesystem::path& model, const FindShapes& find = {});

/// A TorchScript file or a .pt2 that linac trained, by the `notes` in it. User error if they do not say its inputs.
models::ForeignModel open_script(const std::filesystem::path& file, const nlohmann::json& notes);

/// Writes somebody else's code with its trained weights into the folder: TorchScript as model.pt, a program of
/// torch.export as model.pt2, a plug-in's model as weights (save_weights). Returns the file. Environment error if it
/// cannot be written.
std::filesystem::path save_trained(const models::ForeignModel& model, const Network& network,
                                   const nlohmann::json& notes, const std::filesystem::path& folder);

/// The weights of a network that is somebody else's code as NAME.safetensors in the folder, by the names its code gives
/// them: load_state_dict(safetensors.torch.load_file(...)) of the same module in Python. Returns the file. Environment
/// error if it cannot be written.
std::filesystem::path save_weights(const Network& network, const nlohmann::json& notes,
                                   const std::filesystem::path& folder);

}  // namespace linac::trained
