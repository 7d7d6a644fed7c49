#include "linac/train/train/loops/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/job/metrics.h"
#include "linac/base/job/target_values.h"
#include "linac/model/keras/archive.h"
#include "linac/train/train/input/input.h"
#include "linac/train/train/loops/class_balance.h"
#include "linac/train/train/loops/fit_evaluation.h"
#include "linac/train/train/monitor.h"
#include "linac/train/train/record/record.h"
#include "linac/train/trained/compiled_job.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/trained_model.h"

namespace linac::train {
namespace {

constexpr size_t kModel = 0;  // the network of the state

void add(models::Contribution& sum, const models::Contribution& part, float share) {
  if (sum.losses.empty()) {
    sum.gradient.assign(part.gradient.size(), 0.0F);
    sum.statistics.assign(part.statistics.size(), 0.0F);
    sum.losses.assign(part.losses.size(), 0.0F);
  }
  const auto add_to = [](auto& total, const auto& values, float factor) {
    for (size_t i = 0; i < total.size(); ++i) total[i] += factor * values[i];
  };
  add_to(sum.gradient, part.gradient, 1);
  add_to(sum.statistics, part.statistics, share);
  add_to(sum.losses, part.losses, 1);
  sum.finite = sum.finite && part.finite;
}

// The outputs that `linac evaluate` can judge. Hinge and the like tell no probabilities; several numbers behind a
// sigmoid each have their own.
std::vector<std::string> evaluate_commands(const job::Job& job, const models::Supervised& model,
                                           const std::filesystem::path& file, const std::filesystem::path& run) {
  const bool split = job.data.validation_split > 0 || job.data.split.validation > 0;
  std::string data = split ? "--validation-split" : "--data";
  for (const std::string& test : job.data.test) data += fmt::format(" {}", shell_word(test));
  const std::vector<int>& outputs = model.graph().outputs;
  std::vector<std::string> commands;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph::Node& output = model.graph().nodes[static_cast<size_t>(outputs[i])];
    const std::string& loss = model.losses()[i];
    const bool classes = loss.starts_with("categorical_") || loss.starts_with("sparse_categorical_") ||
                         (loss.starts_with("binary_") && graph::elements(output.output) == 1);
    if (output.output.size() > 1 || (classes && job.train.fit.from_logits)) continue;
    const bool several = outputs.size() > 1;
    const auto out = several ? run / "evaluation" / output.name : run / "evaluation";
    commands.push_back(fmt::format("linac evaluate --model {}{}{} {} --out {}", shell_word(file.string()),
                                   several ? fmt::format(" --field {}", shell_word(output.name)) : "",
                                   classes ? "" : " --task regression", data, shell_word(out.string())));
  }
  return commands;
}

}  // namespace

FitLoop::FitLoop(const job::Job& job, comm::Group& group, const Computing& computing, PhaseClock& clock, FitStart start)
    : job_(job),
      start_(start.network(job)),
      sizes_(start.sizes),
      foreign_(start.foreign),
      model_(start.model(job)),
      input_(job, columns_read()),
      clock_(clock),
      update_(job, group, computing, clock) {
  if (group.rank() == 0) {
    for (const std::string& size : sizes_) log::info("[data] input " + size);
    input_.warn();
    if (const std::string remark = foreign_ ? foreign_->remark() : ""; !remark.empty()) log::warn(remark);
  }
  input_.check_each([this](const data::EventTable& table) { need_fitting_values(table); });
  if (input_.test_events() > 0) need_fitting_values(input_.test());
  if (job_.train.fit.class_balance == "weights") balance_classes();
  if (group.rank() != 0) return;
  warn_of_classes();
  warn_of_weights();
}

std::vector<data::ColumnRequest> FitLoop::columns_read() const {
  need_known_measures();  // before files are opened
  return labelled_columns(job_, model_);
}

std::vector<data::ColumnRequest> FitLoop::targets() const {
  const auto first = input_.train().columns().begin() + static_cast<int64_t>(model_.graph().inputs.size());
  return {first, first + static_cast<int64_t>(model_.graph().outputs.size())};
}

std::vector<job::OutputClasses> FitLoop::classes() const {
  std::vector<job::OutputClasses> classes;
  for (const data::ColumnRequest& target : targets())
    if (target.texts) classes.push_back({target.texts->output, target.texts->names});
  return classes;
}

nlohmann::json FitLoop::notes() const {
  nlohmann::json notes = nlohmann::json::object();
  for (const job::OutputClasses& output : classes()) notes["classes"][output.output] = output.classes;
  return notes;
}

void FitLoop::need_known_measures() const {
  std::vector<std::string> known = model_.reported();
  if (job_.data.tests())
    for (const models::Metric& auc : model_.aucs()) known.push_back(auc.measure);
  need_known_monitors(job_, known, "add others to train.fit.metrics; auc wants data.test or data.validation_split");
  need_directions(job_, loss_name());
}

// The columns of columns_read(): inputs, targets, weights.
void FitLoop::need_fitting_values(const data::EventTable& table) const {
  const graph::Graph& graph = model_.graph();
  size_t column = graph.inputs.size();
  for (size_t i = 0; i < graph.outputs.size(); ++i, ++column) {
    const data::ColumnRequest& request = table.columns()[column];
    if (request.texts || !request.offset.empty() || !request.factor.empty()) continue;  // what is stored is another
    const std::string& loss = model_.losses()[i];
    const int64_t classes = graph.nodes[static_cast<size_t>(graph.outputs[i])].output.back();
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
  for (size_t i = 0; i < graph.outputs.size(); ++i) {
    const std::string& loss = model_.losses()[i];
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
  const size_t weight = target + model_.graph().outputs.size();
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
  const size_t column = model_.graph().inputs.size() + model_.graph().outputs.size();
  const data::EventTable& train = input_.train();
  if (column >= train.columns().size()) return;
  if (const data::ColumnFacts facts = train.facts(column); facts.min < 0) {
    log::warn(
        fmt::format("[data] event weights of '{}' go down to {:g}: where they are below 0, the training moves "
                    "away from the event",
                    job_.data.event_weight, facts.min));
  }
}

std::vector<const graph::Graph*> FitLoop::graphs() const {
  return {&model_.graph()};
}

std::string FitLoop::explain() const {
  return model_.explain();
}

std::string FitLoop::cost() const {
  if (foreign_) return "not known: foreign code";
  // A backward pass costs its forward pass twice.
  return fmt::format("{:.4g} GFLOP an event, padding counted", 3 * graph::forward_flop(model_.graph()) / 1e9);
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
  for (const std::string& size : sizes_) lines.push_back(fmt::format("{:<6} {}", "input", size));
  for (const std::string& line : class_weights_) lines.push_back(fmt::format("{:<6} {}", "weight", line));
  return lines;
}

TrainState FitLoop::initial_state() const {
  TrainState state;
  state.networks.push_back(start_);
  return state;
}

void FitLoop::seek(const TrainState& state) {
  update_.take_place(state);
  input_.seek(state, update_.owned());
}

models::Contribution FitLoop::contribution(const TrainState& state, const data::TableBatch& batch, int replica,
                                           const graph::GradientReady& ready) const {
  // Lanes of a stream: each slice has room for the nodes of a graph (nn adds the node's index).
  constexpr uint32_t kLanesPerSlice = 1 << 16;
  const double event_weight = 1.0 / static_cast<double>(job_.train.batch * job_.train.replicas);
  const int64_t slices = job_.train.accumulate, events = job_.train.batch / slices;
  models::Contribution sum;
  for (int64_t i = 0; i < slices; ++i) {
    RngKey key = update_.key(state, replica);
    key.lane = static_cast<uint32_t>(i) * kLanesPerSlice;
    models::Contribution part =
        model_.step(state.networks[kModel].parameters, trained::slice(model_.graph(), batch, i * events, events), key,
                    event_weight, slices == 1 ? ready : graph::GradientReady{});
    if (slices == 1) return part;
    add(sum, part, 1.0F / static_cast<float>(slices));
  }
  return sum;
}

StepResult FitLoop::step(TrainState& state, double learning_rate, StopWish wish, const Arrive& arrive) {
  std::vector<data::TableBatch> batches;
  {
    const PhaseClock::Scope time(clock_, TimePhase::kInput);
    batches = input_.next();
  }
  StepResult result;
  update_.run(
      "", model_.measures(), state, kModel, learning_rate,
      [&](size_t i, const graph::GradientReady& ready) {
        return contribution(state, batches[i], update_.owned()[i], ready);
      },
      wish, result, {}, arrive);
  return result;
}

std::vector<UpdateOutline> FitLoop::updates(const TrainState& state, int) const {
  const bool leaves_early = job_.train.accumulate == 1 && model_.tells_gradients();
  return {update_.outline("", state, kModel, model_.measures().size(), leaves_early)};
}

Measures FitLoop::reported(Measures means) const {
  model_.divide_by_weights(means);
  return means;
}

TestResult FitLoop::test(const TrainState& state, Figures) {
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  return {.losses = FitEvaluation(job_, model_, update_).run(state.networks[kModel].parameters, input_.test()),
          .physics = {},
          .signs_of_collapse = {}};
}

std::vector<Column> FitLoop::columns() const {
  std::vector<Column> columns;
  for (const std::string& measure : model_.reported()) columns.push_back({measure, measure});
  for (const models::Metric& auc : model_.aucs()) columns.push_back({auc.measure, auc.measure});
  return columns;
}

std::vector<Drawing> FitLoop::drawings(const TrainState& state) const {
  return {drawing_of_measures(columns(), state.history, job_.name)};
}

// Without what Keras does not have: it would refuse to load the file.
keras::Compilation FitLoop::compilation() const {
  keras::Compilation compilation{.losses = model_.losses(),
                                 .loss_weights = job_.train.fit.loss_weights,
                                 .metrics = {},
                                 .weighted_metrics = {},
                                 .optimizer = trained::keras_optimizer(job_.train.optimizer)};
  std::vector<std::string> left_out;
  if (!compilation.optimizer) left_out.push_back(job_.train.optimizer.name);
  for (const models::Metric& metric : model_.metrics()) {
    if (!job::keras_has_metric(metric.name)) {
      left_out.push_back(metric.measure);
      continue;
    }
    auto& of_outputs = metric.weighted ? compilation.weighted_metrics : compilation.metrics;
    of_outputs.resize(model_.graph().outputs.size());
    of_outputs[metric.output].push_back(metric.name);
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
  const graph::Graph& graph = model_.graph();
  const keras::Compilation compiled = compilation();
  keras::Training training{.compile = keras::compile_config(compiled, graph), .optimizer = {}};
  if (compiled.optimizer) {
    training.optimizer =
        trained::keras_optimizer_variables(job_.train.optimizer, graph, keras::written_order(graph), network);
  }
  keras::write_keras(graph, graph::to_weight_values(graph, network.parameters), folder / "model.keras", notes,
                     training);
  return folder / "model.keras";
}

std::vector<std::string> FitLoop::hand_over(const TrainState& state, const RunFolder& folder) const {
  const graph::Graph& graph = model_.graph();
  const Network& network = state.networks[kModel];
  const std::vector<data::ColumnRequest> targets = this->targets();
  job::Job job = job_;
  job.workers = 1;  // any number of them writes the same file
  nlohmann::json notes{{"job", job::to_yaml(job)},
                       {"inputs", trained::to_json(trained::input_columns(job_, graph))},
                       {"targets", trained::to_json(targets)},
                       {"event_weight", job_.data.event_weight},
                       {"classes", targets.front().texts ? targets.front().texts->names : job_.data.classes}};
  if (nlohmann::json split = input_.split_json(); !split.is_null()) notes["validation_split"] = std::move(split);
  if (nlohmann::json made = input_.transform_json(); !made.is_null()) notes["transform"] = std::move(made);
  const auto path = foreign_ ? trained::save_trained(*foreign_, network, notes, folder.models())
                             : save_keras(network, notes, folder.models());
  std::vector<std::string> lines{fmt::format("model        {}", folder.shown(path))};
  if (input_.test_events() > 0) {
    lines.push_back(fmt::format("pictures     {}", folder.shown(folder.images() / "losses.png")));
    for (const std::string& command : evaluate_commands(
             job_, model_, folder.shown(path), folder.kept_elsewhere() ? std::filesystem::path() : folder.root()))
      lines.push_back(fmt::format("evaluate     {}", command));
  }
  return lines;
}

}  // namespace linac::train
