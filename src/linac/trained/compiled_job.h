#pragma once
// What a job leaves to the Keras file that it trains: the losses, metrics and optimiser that the model was compiled
// with (model.compile), and the optimiser's state. Thread-safe functions.

#include <string>
#include <vector>

#include "linac/keras/archive.h"
#include "linac/keras/compile.h"
#include "linac/spec/job.h"
#include "linac/trained/network.h"

namespace linac::trained {

/// The job with that filled in; other jobs as they are. Reads the file. User error for what linac does not have, with
/// the setting that would say it instead.
spec::Job with_compiled(spec::Job job);

/// The optimiser as Keras's class and config.
keras::CompiledOptimizer keras_optimizer(const spec::Optimizer& settings);

/// The state of the network's optimiser as Keras keeps it. `order`: the layers' order in the file (keras/archive.h).
std::vector<keras::OptimizerVariable> keras_optimizer_variables(const spec::Optimizer& settings,
                                                                const graph::Graph& graph,
                                                                const std::vector<int>& order, const Network& network);

/// The way back: the state that the file holds goes into the network's optimiser, which was made of these settings.
/// User error if it holds none, or another's.
void restore_optimizer(const std::string& file, const spec::Optimizer& settings, const graph::Graph& graph,
                       const std::vector<int>& order, Network& network);

}  // namespace linac::trained
