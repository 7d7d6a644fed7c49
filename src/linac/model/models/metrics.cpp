#include "linac/model/models/metrics.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/target_values.h"
#include "linac/model/nn/losses.h"

namespace linac::models {
namespace {

const std::string& output_name(const graph::Graph& graph, size_t output) {
  return graph.nodes[static_cast<size_t>(graph.outputs[output])].name;
}

// The outputs that `text` names, and the metric by its full name.
std::vector<Metric> outputs_of(const std::string& text, const graph::Graph& graph,
                               const std::vector<std::string>& losses) {
  std::vector<Metric> found;
  const size_t outputs = graph.outputs.size();
  if (is_metric(text)) {
    for (size_t i = 0; i < outputs; ++i)
      if (job::has_target(losses[i])) found.push_back({.output = i, .name = nn::full_name(text), .measure = {}});
    if (!found.empty()) return found;
    throw user_error(fmt::format("[fit] metric '{}' wants a target, and no output has one (train.fit.loss: {})", text,
                                 fmt::join(losses, ", ")));
  }
  std::vector<std::string> known = nn::metric_names();
  for (size_t i = 0; outputs > 1 && i < outputs; ++i) {
    const std::string prefix = output_name(graph, i) + "_";
    if (!job::has_target(losses[i])) continue;
    if (text.starts_with(prefix) && is_metric(text.substr(prefix.size())))
      return {{.output = i, .name = nn::full_name(text.substr(prefix.size())), .measure = {}}};
    known.push_back(prefix + "accuracy");
  }
  const auto near = nearest(text, known);
  throw user_error(fmt::format("[fit] metric '{}' is not there{} (known: {})", text,
                               near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(known, ", ")));
}

}  // namespace

bool is_metric(const std::string& name) {
  const auto known = nn::metric_names();
  return std::find(known.begin(), known.end(), nn::full_name(name)) != known.end();
}

std::vector<Metric> metrics_of(const graph::Graph& graph, const std::vector<std::string>& losses,
                               const std::vector<std::string>& metrics, const std::vector<std::string>& weighted) {
  std::vector<Metric> all;
  const auto is_there = [&](const Metric& metric, bool with_weights) {
    return std::any_of(all.begin(), all.end(), [&](const Metric& other) {
      return other.output == metric.output && other.name == metric.name && other.weighted == with_weights;
    });
  };
  const auto add = [&](Metric metric) {
    if (is_there(metric, metric.weighted)) return;
    const std::string& output = output_name(graph, metric.output);
    if (nn::is_sparse(losses[metric.output]) && !job::takes_class_numbers(metric.name)) {
      throw user_error(fmt::format(
          "[fit] {} cannot be computed for output '{}': its targets are class numbers ({}){}", metric.name, output,
          losses[metric.output],
          graph.outputs.size() > 1 ? fmt::format("; name the output that is meant: OUTPUT_{}", metric.name) : ""));
    }
    const bool beside = metric.weighted && is_there(metric, false);
    metric.measure = (graph.outputs.size() > 1 ? output + "_" : "") + (beside ? "weighted_" : "") + metric.name;
    all.push_back(std::move(metric));
  };
  for (const std::string& text : metrics)
    for (Metric& metric : outputs_of(text, graph, losses)) add(std::move(metric));
  for (const std::string& text : weighted) {
    for (Metric& metric : outputs_of(text, graph, losses)) {
      metric.weighted = true;
      add(std::move(metric));
    }
  }
  return all;
}

}  // namespace linac::models
