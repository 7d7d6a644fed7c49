#pragma once
// What a job leaves to the Keras file that it trains: the losses, metrics and optimiser that the model was compiled
// with (model.compile), and the optimiser's state. Thread-safe functions.

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/model/keras/archive.h"
#include "linac/model/keras/compile.h"
#include "linac/train/trained/network.h"

namespace linac::trained {

/// A Keras file, read once a start for all who need it.
struct KerasFile {
  keras::KerasModel model;
  std::vector<keras::OptimizerVariable> optimizer{};  // its state, where it was asked for and is there
  std::vector<std::string> drawn{};                   // layers whose weights are not the file's
};

/// The model of a job of kind keras as it is trained: with the settings of model.layers, and what a file does to bring
/// scaled targets back to their units undone. Without the optimizer's state. User error naming file and layer.
KerasFile read_model(const job::Job& job, const std::filesystem::path& file);

struct CompiledJob {
  job::Job job;
  std::shared_ptr<const KerasFile> file;  // null: there was no need to read it. As large as the model: hand it on
};

/// The job with that filled in; other jobs as they are. Reads the file if it must. User error for what linac does not
/// have, with the setting that would say it instead.
CompiledJob with_compiled(job::Job job);

/// The optimiser as Keras's class and config; nothing if Keras has none like it.
std::optional<keras::WrittenOptimizer> keras_optimizer(optimizer::Settings settings);

/// The state of the network's optimiser as Keras keeps it. `order`: the layers' order in the file
/// (model/keras/archive.h).
std::vector<keras::OptimizerVariable> keras_optimizer_variables(const optimizer::Settings& settings,
                                                                const graph::Graph& graph,
                                                                const std::vector<int>& order, const Network& network);

/// The way back: the state that the file holds goes into the network's optimiser, which was made of these settings.
/// `read`: that state, if it has been read; else the file is. User error if it holds none, or another's.
void restore_optimizer(const std::string& file, const optimizer::Settings& settings, const graph::Graph& graph,
                       const std::vector<int>& order, std::vector<keras::OptimizerVariable> read, Network& network);

}  // namespace linac::trained
