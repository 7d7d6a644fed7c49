#pragma once
// A checkpoint of a training on labelled events made into a file of its model, as the run leaves one at its end.
// Thread-safe functions.

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>

#include "linac/base/weights/tensor_file.h"

namespace linac::trained {

/// Where a checkpoint stands: `step` steps behind so many whole epochs.
struct CheckpointMoment {
  int64_t epochs = 0, step = 0;
};
/// `meta`: of the file (weights::read_meta). Data error naming it if it does not say so.
CheckpointMoment moment_of(const nlohmann::json& meta, const std::filesystem::path& file);

/// "epoch 2, the best in auc", "epoch 4; the best in auc so far is epoch 2"
std::string state_words(const nlohmann::json& meta, const std::filesystem::path& file);

/// Whether its run learns from labelled events: its model is one that `linac predict` takes.
bool is_of_labelled_events(const nlohmann::json& meta, const std::filesystem::path& file);

/// Writes model.keras, model.pt, model.pt2 or model.safetensors into `folder`, with the optimiser's state where that
/// kind of file has one, and returns it. The graph is that of the model the run has left, or else of its job's.
/// `name`: what people call it. User error if neither is there.
std::filesystem::path model_of_state(const std::string& name, const std::filesystem::path& run,
                                     const weights::TensorFile& state, const std::filesystem::path& file,
                                     const std::filesystem::path& folder);

}  // namespace linac::trained
