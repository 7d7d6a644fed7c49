// What a training on labelled events tells, and the trained model as a file.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "linac/base/base/log.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/target_values.h"
#include "linac/model/keras/archive.h"
#include "linac/model/models/logits.h"
#include "linac/model/models/own_losses.h"
#include "linac/train/train/loops/fit.h"
#include "linac/train/train/record/record.h"
#include "linac/train/trained/compiled_job.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/target_units.h"
#include "linac/train/trained/trained_model.h"

namespace linac::train {
namespace {

// Somebody else's code gives them all.
std::vector<size_t> all_outputs(const graph::Graph& graph) {
  std::vector<size_t> outputs(graph.outputs.size());
  std::iota(outputs.begin(), outputs.end(), size_t{0});
  return outputs;
}

std::vector<std::string> input_names(const graph::Graph& graph) {
  std::vector<std::string> names;
  for (const int input : graph.inputs) names.push_back(graph.nodes[static_cast<size_t>(input)].name);
  return names;
}

}  // namespace

std::string FitLoop::explain() const {
  return model_.explain();
}

std::string FitLoop::cost() const {
  if (foreign_) return "not known: foreign code";
  // A backward pass costs its forward pass twice.
  const std::string division = model_.division();
  return fmt::format("{:.4g} GFLOP an event, padding counted{}{}", 3 * graph::forward_flop(model_.graph()) / 1e9,
                     division.empty() ? "" : "\n  ", division);
}

nlohmann::json FitLoop::notes() const {
  nlohmann::json notes = nlohmann::json::object();
  for (const job::OutputClasses& output : classes()) notes["classes"][output.output] = output.classes;
  notes["model"] = model_notes();
  return notes;
}

// What whoever has the model must know to feed it, but for the job.
nlohmann::json FitLoop::model_notes() const {
  const graph::Graph& graph = model_.graph();
  const std::vector<size_t> used = foreign_ ? all_outputs(graph) : models::used_outputs(model_.losses());
  const std::vector<std::string> names = input_names(graph), read = input_names(models::with_outputs(graph, used));
  const std::vector<data::ColumnRequest> all = trained::input_columns(job_, graph), known = targets();
  std::vector<data::ColumnRequest> inputs, targets;
  for (size_t i = 0; i < all.size(); ++i)
    if (std::ranges::count(read, names[i]) > 0) inputs.push_back(all[i]);
  for (const size_t output : used) {
    const auto target = std::ranges::find(model_.targets(), output, &models::Supervised::Target::output);
    targets.push_back(target == model_.targets().end() ? data::ColumnRequest{}
                                                       : known[static_cast<size_t>(target - model_.targets().begin())]);
  }
  nlohmann::json notes{{"inputs", trained::to_json(inputs)},
                       {"targets", trained::to_json(targets)},
                       {"event_weight", job_.data.event_weight},
                       {"classes", targets.front().texts ? targets.front().texts->names : job_.data.classes}};
  if (nlohmann::json split = input_.split_json(); !split.is_null()) notes["validation_split"] = std::move(split);
  if (nlohmann::json made = input_.transform_json(); !made.is_null()) notes["transform"] = std::move(made);
  return notes;
}

Measures FitLoop::reported(Measures means) const {
  model_.divide_by_weights(means);
  return means;
}

std::vector<Column> FitLoop::columns() const {
  std::vector<Column> columns;
  for (const std::string& measure : model_.reported()) columns.push_back({measure, measure});
  for (const models::Metric& metric : model_.of_all_scores()) columns.push_back({metric.measure, metric.measure});
  return columns;
}

std::vector<Drawing> FitLoop::drawings(const TrainState& state) const {
  return {drawing_of_measures(columns(), state.history, job_.name)};
}

// Of these outputs, without what Keras does not have: it would refuse to load the file.
keras::Compilation FitLoop::compilation(const std::vector<size_t>& outputs) const {
  keras::Compilation compilation{.losses = {},
                                 .loss_weights = {},
                                 .metrics = {},
                                 .weighted_metrics = {},
                                 .optimizer = trained::keras_optimizer(job_.train.optimizer),
                                 .settings = {.label_smoothing = job_.train.fit.label_smoothing}};
  for (const size_t output : outputs) {
    const std::string& loss = compilation.losses.emplace_back(model_.losses()[output]);
    if (models::takes_logits(model_.graph(), output, loss, job_.train.fit.from_logits))
      compilation.settings.from_logits = true;
    if (const auto& weights = job_.train.fit.loss_weights; !weights.empty())
      compilation.loss_weights.push_back(weights[output]);
  }
  std::vector<std::string> left_out;
  if (!compilation.optimizer) left_out.push_back(job_.train.optimizer.name);
  for (const models::Metric& metric : model_.metrics()) {
    if (!job::keras_has_metric(metric.name)) {
      left_out.push_back(metric.measure);
      continue;
    }
    auto& of_outputs = metric.weighted ? compilation.weighted_metrics : compilation.metrics;
    of_outputs.resize(outputs.size());
    const auto place = std::ranges::find(outputs, metric.output) - outputs.begin();
    of_outputs[static_cast<size_t>(place)].push_back(metric.name);
  }
  if (!left_out.empty()) {
    log::info(
        fmt::format("models/model.keras is complete, but compile() in it is without {}: Keras has no such "
                    "metric or optimizer, or computes another number under that name",
                    fmt::join(left_out, ", ")));
  }
  return compilation;
}

std::filesystem::path FitLoop::save_keras(const Network& network, const nlohmann::json& notes,
                                          const std::filesystem::path& folder) const {
  const std::vector<size_t> used = models::used_outputs(model_.losses());
  const graph::Graph graph = models::with_outputs(model_.graph(), used);
  const graph::Graph written = graph::in_units_of_files(graph, trained::units_in(notes, used.size()));
  keras::Training training;
  if (std::ranges::any_of(used, [&](size_t output) { return job::has_target(model_.losses()[output]); })) {
    const keras::Compilation compiled = compilation(used);
    training.compile = keras::compile_config(compiled, written);
    if (compiled.optimizer) {
      training.optimizer =
          trained::keras_optimizer_variables(job_.train.optimizer, graph, keras::written_order(written), network);
    }
  }
  keras::write_keras(written, graph::to_weight_values(graph, network.parameters), folder / "model.keras", notes,
                     training);
  return folder / "model.keras";
}

std::vector<std::string> FitLoop::hand_over(const TrainState& state, const RunFolder& folder) const {
  const Network& network = state.networks[kModel];
  job::Job job = job_;
  job.workers = 1;  // any number of them writes the same file
  nlohmann::json notes = model_notes();
  notes["job"] = job::to_yaml(job);
  const auto path = foreign_ ? trained::save_trained(*foreign_, network, notes, folder.models())
                             : save_keras(network, notes, folder.models());
  std::vector<std::string> lines{fmt::format("model        {}", folder.shown(path))};
  if (input_.test_events() > 0)
    lines.push_back(fmt::format("pictures     {}", folder.shown(folder.images() / "losses.png")));
  return lines;
}

}  // namespace linac::train
