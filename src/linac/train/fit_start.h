#pragma once
// What a training on labelled events starts from, by the kind of its model. Thread-safe functions.

#include <optional>
#include <string>
#include <vector>

#include "linac/data/event_table.h"
#include "linac/graph/graph.h"
#include "linac/graph/parameters.h"
#include "linac/models/foreign_model.h"
#include "linac/models/supervised.h"
#include "linac/spec/job.h"
#include "linac/train/state.h"
#include "linac/trained/compiled_job.h"

namespace linac::train {

struct FitStart {
  graph::Graph graph = {};
  graph::Parameters parameters = {};
  models::SupervisedSettings settings = {};                    // what the job and the kind say
  std::optional<models::ForeignModel> foreign = {};            // in place of a graph
  std::string keras_file = {};                                 // that the graph is of, for its optimiser
  std::vector<int> order = {};                                 // of the layers in that file
  std::vector<keras::OptimizerVariable> optimizer_state = {};  // of that file, if it was read with it
  std::vector<std::string> sizes = {};                         // of inputs that the file leaves open, for people

  /// What the state holds at first. The parameters leave.
  Network network(const spec::Job& job);
  /// What is trained. Graph and settings leave.
  models::Supervised model(const spec::Job& job);
};

/// All columns that a training of the model reads (trained::fit_columns), with what texts mean as targets.
std::vector<data::ColumnRequest> labelled_columns(const spec::Job& job, const models::Supervised& model);

/// Each reads the files it needs; the job is of that kind. User errors where they do not go together.
FitStart inclusive_classifier_start(const spec::Job& job);
/// `read`: the job's Keras file if it has been read; null: it is read here.
FitStart keras_start(const spec::Job& job, const trained::KerasFile* read);
FitStart torchscript_start(const spec::Job& job);
FitStart plugin_start(const spec::Job& job);

}  // namespace linac::train
