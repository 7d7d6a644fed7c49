#pragma once
// Losses and metrics that a model computes itself: outputs that stand for no target (job::has_target()). So whatever
// can be said with Keras's operations trains, as a likelihood or a contrastive loss; linac.keras writes such
// models. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::models {

/// train.fit.loss by output and by full names. One counts for all outputs; "output" alone, of a model with several, is
/// the output called "loss", those called "metric_NAME" are metrics, and the others neither. User error for another
/// number, and where that leaves nothing to learn from.
std::vector<std::string> losses_of_outputs(const graph::Graph& graph, const std::vector<std::string>& losses);

/// Whether one of several outputs is called "loss".
bool computes_own_loss(const graph::Graph& graph);

/// The losses that a file was compiled with, one an output: of several outputs without one, "loss" and those called
/// "metric_NAME" are what their names say.
std::vector<std::string> with_own_losses(const graph::Graph& graph, std::vector<std::string> compiled);

/// What the loss of an output is reported as: "OUTPUT_loss"; of one that is a metric its name, NAME of "metric_NAME".
std::string measure_of_loss(const std::string& output, const std::string& loss);

/// The outputs for those who use the model: without losses and metrics. All of them if that would be none.
std::vector<size_t> used_outputs(const std::vector<std::string>& losses);

/// The graph of these outputs alone.
graph::Graph with_outputs(const graph::Graph& graph, const std::vector<size_t>& outputs);

}  // namespace linac::models
