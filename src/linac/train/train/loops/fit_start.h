#pragma once
// What a training on labelled events starts from, by the kind of its model. Thread-safe functions.

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/io/data/event_table.h"
#include "linac/model/graph/graph.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/foreign_model.h"
#include "linac/model/models/supervised.h"
#include "linac/train/train/state/state.h"
#include "linac/train/trained/compiled_job.h"

namespace linac::train {

struct FitStart {
  using Remarks = std::vector<std::pair<std::string, std::string>>;  // on what is not the file's, for people

  graph::Graph graph = {};
  graph::Parameters parameters = {};
  models::SupervisedSettings settings = {};                    // what the job and the kind say
  std::optional<models::ForeignModel> foreign = {};            // in place of a graph
  std::string keras_file = {};                                 // that the graph is of, for its optimiser
  std::vector<int> order = {};                                 // of the layers in that file
  std::vector<keras::OptimizerVariable> optimizer_state = {};  // of that file, if it was read with it
  Remarks remarks = {};

  /// What the state holds at first. The parameters leave.
  Network network(const job::Job& job);
  /// What is trained. Graph and settings leave.
  models::Supervised model(const job::Job& job);
};

/// All columns that a training of the model reads (trained::fit_columns), with what texts mean as targets.
std::vector<data::ColumnRequest> labelled_columns(const job::Job& job, const models::Supervised& model);

/// Each reads the files it needs; the job is of that kind. User errors where they do not go together.
FitStart inclusive_classifier_start(const job::Job& job);
/// `read`: the job's Keras file if it has been read; null: it is read here.
FitStart keras_start(const job::Job& job, const trained::KerasFile* read);
FitStart torchscript_start(const job::Job& job);
FitStart plugin_start(const job::Job& job);

}  // namespace linac::train
