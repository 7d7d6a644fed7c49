#include "linac/model/models/own_losses.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>
#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/plural.h"
#include "linac/base/job/target_values.h"
#include "linac/model/graph/prune.h"
#include "linac/model/nn/losses.h"

namespace linac::models {
namespace {

constexpr std::string_view kLossName = "loss", kMetricPrefix = "metric_";

void need_known_loss(const std::string& name) {
  const std::vector<std::string> known = nn::loss_names();
  if (std::find(known.begin(), known.end(), name) != known.end()) return;
  const auto near = nearest(name, known);
  throw user_error(fmt::format(
      "[fit] loss '{}' is not there{} (known: {}); one of your own is an output of the model, "
      "with loss: {} (docs/guide/own-losses.md)",
      name, near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(known, ", "), job::kOutputLoss));
}

std::vector<std::string> names_of_outputs(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const int output : graph.outputs) names.push_back(graph.nodes[static_cast<size_t>(output)].name);
  return names;
}

const char* loss_by_name(const std::string& name) {
  if (name == kLossName) return job::kOutputLoss;
  return name.starts_with(kMetricPrefix) ? job::kOutputMetric : job::kNoLoss;
}

std::vector<std::string> losses_by_name(const graph::Graph& graph) {
  std::vector<std::string> losses;
  const std::vector<std::string> names = names_of_outputs(graph);
  for (const std::string& name : names) losses.emplace_back(loss_by_name(name));
  if (std::find(losses.begin(), losses.end(), job::kOutputLoss) != losses.end()) return losses;
  throw user_error(
      fmt::format("[fit] train.fit.loss is '{}', and no output of '{}' is called '{}' ({}); give one for each output, "
                  "a loss of Keras or {}, {} or {}",
                  job::kOutputLoss, graph.name, kLossName, fmt::join(names, ", "), job::kOutputLoss, job::kOutputMetric,
                  job::kNoLoss));
}

}  // namespace

std::vector<std::string> losses_of_outputs(const graph::Graph& graph, const std::vector<std::string>& given) {
  std::vector<std::string> losses = given;
  const size_t outputs = graph.outputs.size();
  if (losses.size() == 1 && outputs > 1)
    losses = losses[0] == job::kOutputLoss ? losses_by_name(graph) : std::vector<std::string>(outputs, losses[0]);
  if (losses.size() != outputs) {
    throw user_error(fmt::format("[fit] {} for the {} of '{}'; give train.fit.loss one for each output",
                                 losses.size() == 1 ? "1 loss" : fmt::format("{} losses", losses.size()),
                                 plural(static_cast<int64_t>(outputs), "output"), graph.name));
  }
  for (std::string& loss : losses) {
    loss = nn::full_name(loss);
    need_known_loss(loss);
  }
  const auto learns = [](const std::string& loss) { return job::has_target(loss) || loss == job::kOutputLoss; };
  if (std::none_of(losses.begin(), losses.end(), learns))
    throw user_error("[fit] train.fit.loss leaves nothing to learn from; give one of the outputs a loss");
  return losses;
}

std::vector<std::string> with_own_losses(const graph::Graph& graph, std::vector<std::string> compiled) {
  const std::vector<std::string> names = names_of_outputs(graph);
  for (size_t i = 0; compiled.size() == names.size() && i < names.size() && names.size() > 1; ++i)
    if (compiled[i] == job::kNoLoss) compiled[i] = loss_by_name(names[i]);
  return compiled;
}

bool computes_own_loss(const graph::Graph& graph) {
  const std::vector<std::string> names = names_of_outputs(graph);
  return names.size() > 1 && std::find(names.begin(), names.end(), kLossName) != names.end();
}

std::string measure_of_loss(const std::string& output, const std::string& loss) {
  if (loss != job::kOutputMetric) return output + "_loss";
  return output.starts_with(kMetricPrefix) ? output.substr(kMetricPrefix.size()) : output;
}

std::vector<size_t> used_outputs(const std::vector<std::string>& losses) {
  std::vector<size_t> used;
  for (size_t i = 0; i < losses.size(); ++i)
    if (losses[i] != job::kOutputLoss && losses[i] != job::kOutputMetric) used.push_back(i);
  if (!used.empty()) return used;
  used.resize(losses.size());
  std::iota(used.begin(), used.end(), size_t{0});
  return used;
}

graph::Graph with_outputs(const graph::Graph& graph, const std::vector<size_t>& outputs) {
  if (outputs.size() == graph.outputs.size()) return graph;
  std::vector<int> nodes;
  for (const size_t output : outputs) nodes.push_back(graph.outputs[output]);
  return graph::prune(graph, nodes);
}

}  // namespace linac::models
