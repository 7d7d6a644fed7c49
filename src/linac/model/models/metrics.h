#pragma once
// Which metrics of which outputs a training reports, and by what names: those of Keras's history. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/model/graph/graph.h"

namespace linac::models {

/// A metric of one output.
struct Metric {
  size_t output = 0;
  std::string name;       // "accuracy"
  bool weighted = false;  // by what each event counts, as Keras's weighted_metrics
  /// What it is reported as: "accuracy"; of several outputs "OUTPUT_accuracy"; "weighted_accuracy" or
  /// "OUTPUT_weighted_accuracy" beside the same metric without weights.
  std::string measure;
};

/// Whether a job may name it, of any output.
bool is_metric(const std::string& name);

/// What a job's lists of names stand for. "accuracy" is of every output, "OUTPUT_accuracy" of one of several. `losses`:
/// one an output. User error for a name that is not known, or a metric that cannot be computed from the targets of an
/// output's loss.
std::vector<Metric> metrics_of(const graph::Graph& graph, const std::vector<std::string>& losses,
                               const std::vector<std::string>& metrics, const std::vector<std::string>& weighted);

}  // namespace linac::models
