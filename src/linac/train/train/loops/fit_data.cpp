// What a training on labelled events reads, and whether it fits the model.

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/base/job/target_values.h"
#include "linac/base/optimizer/table.h"
#include "linac/model/graph/input_rules.h"
#include "linac/model/graph/last_activation.h"
#include "linac/model/models/logits.h"
#include "linac/train/train/loops/class_balance.h"
#include "linac/train/train/loops/fit.h"
#include "linac/train/train/monitor.h"
#include "linac/train/trained/input_values.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/target_units.h"

namespace linac::train {
namespace {

/// Scaling leaves the hidden rows of lists of rows as they are, and knows nothing of other values.
void warn_of_hidden_values(const data::EventTable& table, const graph::Graph& graph) {
  const std::vector<graph::InputRule> rules = graph::input_rules(graph);
  for (size_t i = 0; i < rules.size(); ++i) {
    const data::ColumnRequest& request = table.columns()[i];
    const bool scaled = !request.offset.empty() || !request.factor.empty();
    if (!rules[i].hidden || !scaled || request.padding != 0) continue;
    log::warn(fmt::format(
        "[data] column '{}': layer '{}' (Masking) hides {:g}, and the column is scaled with all its values: "
        "it does not hide those; scale the file, or make the input a list of rows",
        request.describe(), rules[i].hidden->layer, rules[i].hidden->value));
  }
}

}  // namespace

std::vector<data::ColumnRequest> FitLoop::columns_read() const {
  need_known_measures();  // before files are opened
  std::vector<data::ColumnRequest> columns = labelled_columns(job_, model_);
  std::vector<std::string> losses;
  for (const models::Supervised::Target& target : model_.targets()) losses.push_back(model_.losses()[target.output]);
  trained::need_value_losses(targets_among(columns), losses, job_.train.fit.from_logits);
  return columns;
}

std::vector<data::ColumnRequest> FitLoop::targets() const {
  return targets_among(input_.train().columns());
}

std::vector<data::ColumnRequest> FitLoop::targets_among(const std::vector<data::ColumnRequest>& columns) const {
  const auto first = columns.begin() + static_cast<int64_t>(model_.graph().inputs.size());
  return {first, first + static_cast<int64_t>(model_.targets().size())};
}

std::vector<job::OutputClasses> FitLoop::classes() const {
  std::vector<job::OutputClasses> classes;
  for (const data::ColumnRequest& target : targets())
    if (target.texts) classes.push_back({target.texts->output, target.texts->names});
  return classes;
}

bool FitLoop::weighs_steps() const {
  const std::vector<data::ColumnRequest>& columns = input_.train().columns();
  if (job_.data.event_weight.empty() || columns.back().shape.empty()) return false;
  if (job_.train.fit.class_balance == "none" && job_.train.fit.class_weight.empty()) return true;
  throw user_error(fmt::format(
      "[fit] column '{}' weighs steps, and train.fit.class_weight and class_balance weigh events; leave one "
      "out",
      job_.data.event_weight));
}

void FitLoop::need_known_measures() const {
  std::vector<std::string> known = model_.reported();
  if (job_.data.tests())
    for (const models::Metric& metric : model_.of_all_scores()) known.push_back(metric.measure);
  need_known_monitors(job_, known, "add others to train.fit.metrics; auc wants data.test or data.validation_split");
  need_directions(job_, loss_name());
}

// The columns of columns_read(): inputs, targets, weights.
void FitLoop::need_fitting_values(const data::EventTable& table) const {
  const graph::Graph& graph = model_.graph();
  trained::need_input_values(table, graph);
  size_t column = graph.inputs.size();
  for (size_t i = 0; i < model_.targets().size(); ++i, ++column) {
    const data::ColumnRequest& request = table.columns()[column];
    if (request.texts || !request.offset.empty() || !request.factor.empty()) continue;  // what is stored is another
    const size_t output = model_.targets()[i].output;
    const std::string& loss = model_.losses()[output];
    const int64_t classes = graph.nodes[static_cast<size_t>(graph.outputs[output])].output.back();
    const ValueRange values = job::target_values(loss, classes);
    table.need(column, values, values.whole ? fmt::format("{} of {} classes", loss, classes) : loss);
  }
  if (column == table.columns().size()) return;
  if (const double sum = table.facts(column).sum; sum <= 0) {
    throw data_error(
        fmt::format("[data] {}: the event weights in column '{}' add up to {}, so no event counts; mend "
                    "them, or name another column in data.event_weight",
                    table.files().front().url, job_.data.event_weight, sum));
  }
}

// What a training does not stumble over and nobody wants: one class alone, or one that only tests.
void FitLoop::warn_of_classes() const {
  const graph::Graph& graph = model_.graph();
  const data::EventTable& train = input_.train();
  warn_of_hidden_values(train, graph);
  for (size_t i = 0; i < model_.targets().size(); ++i) {
    const std::string& loss = model_.losses()[model_.targets()[i].output];
    const bool numbers = loss.starts_with("sparse_categorical_");
    const size_t column = graph.inputs.size() + i;
    const data::ColumnRequest& request = train.columns()[column];
    const bool plain = request.event_values() == 1 && !request.texts && request.offset.empty();
    if (!plain || (!numbers && !loss.starts_with("binary_"))) continue;
    const data::ColumnFacts facts = train.facts(column);
    if (facts.values > 1 && facts.min == facts.max) {
      log::warn(fmt::format("[data] column '{}' is {:g} in all training events: there is nothing to tell apart",
                            request.column, facts.min));
    }
    if (input_.test_events() == 0) continue;
    const data::ColumnFacts tested = input_.test().facts(column);
    if (numbers && tested.values > 0 && (tested.max > facts.max || tested.min < facts.min)) {
      log::warn(
          fmt::format("[data] column '{}': the test events have classes from {:g} to {:g}, the training events "
                      "from {:g} to {:g}; are the files sorted by class?",
                      request.column, tested.min, tested.max, facts.min, facts.max));
    }
  }
}

// Each class of the first output counts the same in the training events.
void FitLoop::balance_classes() {
  const size_t target = model_.graph().inputs.size();
  const size_t weight = target + model_.targets().size();
  const data::EventTable& train = input_.train();
  const std::string& loss = model_.losses().front();
  if (!loss.starts_with("categorical_") && !loss.starts_with("sparse_categorical_") && !loss.starts_with("binary_"))
    throw user_error(fmt::format("[fit] train.fit.class_balance is for losses of classes, not for {}", loss));
  const std::vector<std::string> names = train.classes(target).empty() ? job_.data.classes : train.classes(target);
  const bool weighted = weight < train.columns().size();
  const std::vector<double> totals = totals_of_classes(train, target, weighted ? std::optional(weight) : std::nullopt,
                                                       model_.classes_of_first(), loss.starts_with("sparse_"));
  std::vector<double> weights = balanced_weights(totals, names, train.columns()[target].describe());
  for (size_t i = 0; i < weights.size(); ++i)
    class_weights_.push_back(fmt::format("{}: {:.6g}, the training events of the class count {:.6g}",
                                         i < names.size() ? names[i] : fmt::format("class {}", i), weights[i],
                                         totals[i]));
  model_.weigh_classes(std::move(weights));
}

void FitLoop::warn_of_weights() const {
  const size_t column = model_.graph().inputs.size() + model_.targets().size();
  const data::EventTable& train = input_.train();
  if (column >= train.columns().size()) return;
  if (const data::ColumnFacts facts = train.facts(column); facts.min < 0) {
    log::warn(
        fmt::format("[data] event weights of '{}' go down to {:g}: where they are below 0, the training moves "
                    "away from the event",
                    job_.data.event_weight, facts.min));
  }
}

void FitLoop::warn_of_logits() const {
  const graph::Graph& graph = model_.graph();
  for (size_t i = 0; i < graph.outputs.size() && job_.train.fit.from_logits; ++i) {
    const std::string& loss = model_.losses()[i];
    if (!loss.ends_with("crossentropy") || models::takes_logits(graph, i, loss, true)) continue;
    log::warn(fmt::format(
        "[fit] train.fit.from_logits, and output '{}' has its {} already: it is taken for a probability",
        graph.nodes[static_cast<size_t>(graph.outputs[i])].name, graph::last_activation(graph, graph.outputs[i])));
  }
}

void FitLoop::warn_of_optimizer() const {
  const optimizer::Settings& settings = job_.train.optimizer;
  for (const std::string& key : optimizer::without_effect(settings))
    log::warn(fmt::format("[fit] train.optimizer.{} does nothing: {} does not take it", key, settings.name));
}

nlohmann::json FitLoop::data() const {
  return input_.json();
}

std::function<double()> FitLoop::read_share() const {
  return input_.read_share();
}

int64_t FitLoop::train_events() const {
  return input_.train_events();
}

int64_t FitLoop::test_events() const {
  return input_.test_events();
}

std::vector<std::string> FitLoop::describe_data() const {
  std::vector<std::string> lines = input_.describe();
  for (const auto& [what, text] : remarks_) lines.push_back(fmt::format("{:<6} {}", what, text));
  for (const std::string& line : class_weights_) lines.push_back(fmt::format("{:<6} {}", "weight", line));
  return lines;
}

}  // namespace linac::train
