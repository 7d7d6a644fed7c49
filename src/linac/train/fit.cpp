#include "linac/train/fit.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/base/nearest.h"
#include "linac/graph/keras_archive.h"
#include "linac/graph/keras_compile.h"
#include "linac/models/inclusive_classifier/networks.h"
#include "linac/plot/losses.h"
#include "linac/train/books.h"
#include "linac/train/fit_evaluation.h"
#include "linac/train/input.h"
#include "linac/train/labelled_data.h"
#include "linac/train/monitor.h"

namespace linac::train {
namespace {

constexpr size_t kModel = 0;  // the network of the state

models::SupervisedSettings settings_of(const spec::Fit& fit) {
  return {.losses = fit.loss,
          .loss_weights = fit.loss_weights,
          .metrics = fit.metrics,
          .class_weights = fit.class_weight,
          .label_smoothing = fit.label_smoothing,
          .from_logits = fit.from_logits};
}

nlohmann::json files_json(const data::EventTable& table) {
  nlohmann::json files = nlohmann::json::array();
  for (const data::TableFile& file : table.files()) files.push_back(file_json(file));
  return files;
}

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

}  // namespace

struct FitLoop::Start {
  graph::Graph graph;
  graph::Parameters parameters;
  models::SupervisedSettings settings;
  std::optional<models::ScriptedModel> script;  // in place of a graph

  models::Supervised model(const spec::Job& job) {
    return script ? models::Supervised(*script, std::move(settings))
                  : models::Supervised(std::move(graph), std::move(settings), numerics_of(job));
  }
  static Start of(const spec::Job& job);
};

FitLoop::Start FitLoop::Start::of(const spec::Job& job) {
  Start start{.graph = {}, .parameters = {}, .settings = settings_of(job.train.fit), .script = {}};
  if (job.model.kind == "keras") {
    graph::KerasModel model = graph::read_keras(job.model.file);
    if (start.settings.losses.empty()) {
      start.settings.losses = graph::compiled_losses(model.compile, model.graph);
      if (start.settings.losses.empty()) {
        throw user_error(
            fmt::format("[fit] {}: was saved without a loss (model.compile); set train.fit.loss", job.model.file));
      }
    }
    start.parameters = graph::from_weight_values(model.graph, model.weights);
    start.graph = std::move(model.graph);
  } else if (job.model.kind == "torchscript") {
    std::vector<std::pair<std::string, graph::Shape>> inputs;
    for (const spec::DataColumn& input : job.data.inputs) inputs.emplace_back(input.name, input.shape);
    start.script.emplace(job.model.file, inputs);
    start.parameters = start.script->parameters();
    if (start.settings.losses.empty()) throw user_error("[fit] a torchscript model wants train.fit.loss");
  } else {
    start.graph = models::inclusive_classifier::network(job.model.variant, job.model.particles);
    start.parameters = graph::Parameters::of(start.graph);
    graph::initialize(start.graph, job.train.seed, 0, start.parameters);
    if (start.settings.losses.empty()) start.settings.losses = {"categorical_crossentropy"};
  }
  return start;
}

FitLoop::FitLoop(const spec::Job& job, comm::Group& group, int concurrency, PhaseClock& clock)
    : FitLoop(job, group, concurrency, clock, Start::of(job)) {}

FitLoop::FitLoop(const spec::Job& job, comm::Group& group, int concurrency, PhaseClock& clock, Start start)
    : job_(job),
      start_(std::move(start.parameters)),
      script_(start.script),
      model_(start.model(job)),
      clock_(clock),
      update_(job, group, concurrency, clock) {
  need_known_measures();
  auto columns = input_columns(job, model_.graph());
  for (data::ColumnRequest& target : target_columns(job, model_.graph(), model_.target_shapes()))
    columns.push_back(std::move(target));
  train_ = data::EventTable::open(job.data.train, columns);
  if (!job.data.test.empty()) test_ = data::EventTable::open(job.data.test, columns);
}

// Early, so that no run fails at the end of its first epoch.
void FitLoop::need_known_measures() const {
  std::vector<std::string> known = model_.measures();
  if (model_.wants_auc() && !job_.data.test.empty()) known.emplace_back("auc");
  for (const auto& [key, name] : monitors(job_)) {
    if (std::find(known.begin(), known.end(), name) != known.end()) continue;
    const auto near = nearest(name, known);
    throw user_error(
        fmt::format("[job] {} = {} is not a measure of this run{} (it has {}; add others to "
                    "train.fit.metrics; auc wants data.test)",
                    key, name, near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(known, ", ")));
  }
}

std::vector<const graph::Graph*> FitLoop::graphs() const {
  return {&model_.graph()};
}

std::string FitLoop::explain() const {
  return model_.explain();
}

std::string FitLoop::cost() const {
  // A backward pass costs its forward pass twice.
  return fmt::format("{:.4g} GFLOP an event, padding counted", 3 * graph::forward_flop(model_.graph()) / 1e9);
}

nlohmann::json FitLoop::data() const {
  nlohmann::json data{{"train", files_json(*train_)}};
  if (test_) data["test"] = files_json(*test_);
  return data;
}

int64_t FitLoop::train_events() const {
  return train_->size();
}

int64_t FitLoop::test_events() const {
  return test_ ? test_->size() : 0;
}

std::vector<std::string> FitLoop::describe_data() const {
  std::vector<std::string> lines;
  for (const auto& [role, table] : {std::pair("train", train_), std::pair("test", test_)}) {
    if (!table) continue;
    for (const data::TableFile& file : table->files()) {
      lines.push_back(fmt::format("{:<6} {}: {}, {} events", role, file.url, file.format, file.events));
    }
    for (size_t i = 0; i < table->columns().size(); ++i) {
      if (const int64_t cut = table->events_cut(i); cut > 0) {
        lines.push_back(fmt::format("{:<6} column {}: {} events have more rows than {} and lose the last ones", role,
                                    table->columns()[i].column, cut, table->columns()[i].shape[0]));
      }
    }
  }
  return lines;
}

TrainState FitLoop::initial_state() const {
  TrainState state;
  state.networks.push_back(fresh_network("model", model_.graph(), start_, job_.train.optimizer));
  return state;
}

void FitLoop::seek(const TrainState& state) {
  stream_.emplace(train_, stream_options(job_, state, train_->size(), update_.owned()), stream_position(state));
}

models::Contribution FitLoop::contribution(const TrainState& state, const data::TableBatch& batch, int replica) const {
  // Lanes of a stream: each slice has room for the nodes of a graph (nn adds the node's index).
  constexpr uint32_t kLanesPerSlice = 1 << 16;
  const double event_weight = 1.0 / static_cast<double>(job_.train.batch * job_.train.replicas);
  const int64_t slices = job_.train.accumulate, events = job_.train.batch / slices;
  models::Contribution sum;
  for (int64_t i = 0; i < slices; ++i) {
    RngKey key = update_.key(state, replica);
    key.lane = static_cast<uint32_t>(i) * kLanesPerSlice;
    models::Contribution part = model_.step(state.networks[kModel].parameters,
                                            slice(model_.graph(), batch, i * events, events), key, event_weight);
    if (slices == 1) return part;
    add(sum, part, 1.0F / static_cast<float>(slices));
  }
  return sum;
}

StepResult FitLoop::step(TrainState& state, double learning_rate, bool stop_wanted) {
  std::vector<data::TableBatch> batches;
  {
    const PhaseClock::Scope time(clock_, TimePhase::kInput);
    batches = stream_->next().replicas;
  }
  StepResult result;
  update_.run(
      "", model_.measures(), state.networks[kModel], learning_rate,
      [&](size_t i) { return contribution(state, batches[i], update_.owned()[i]); }, stop_wanted, result);
  return result;
}

TestResult FitLoop::test(const TrainState& state, Figures) {
  const PhaseClock::Scope time(clock_, TimePhase::kTest);
  return {.losses = FitEvaluation(job_, model_, update_).run(state.networks[kModel].parameters, *test_),
          .physics = {},
          .signs_of_collapse = {}};
}

std::vector<Column> FitLoop::columns() const {
  std::vector<Column> columns;
  for (const std::string& measure : model_.measures()) columns.push_back({measure, measure});
  if (model_.wants_auc()) columns.push_back({"auc", "auc"});
  return columns;
}

std::vector<DrawnPicture> FitLoop::draw(const TrainState& state, const RunFolder& folder) const {
  std::vector<plot::LossChart> charts;
  for (const Column& column : columns()) {
    charts.push_back({.title = column.heading, .axis = "", .lines = {loss_line(state.history, "", column.measure)}});
  }
  const auto picture = plot::write_loss_png(folder.images() / "losses.png", job_.name, charts);
  return {{"measures", picture.png, picture.width, picture.height}};
}

std::vector<std::string> FitLoop::hand_over(const TrainState& state, const RunFolder& folder) const {
  const graph::Graph& graph = model_.graph();
  if (script_) {
    const auto script = folder.models() / "model.pt";
    script_->save(state.networks[kModel].parameters, script);
    return {fmt::format("model        {}", script.string())};
  }
  const auto path = folder.models() / "model.keras";
  graph::write_keras(graph, graph::to_weight_values(graph, state.networks[kModel].parameters), path,
                     {{"job", spec::to_yaml(job_)},
                      {"inputs", to_json(input_columns(job_, graph))},
                      {"targets", to_json(target_columns(job_, graph, model_.target_shapes()))},
                      {"classes", job_.data.classes}},
                     graph::compile_config(model_.losses(), graph));
  std::vector<std::string> lines{fmt::format("model        {}", path.string())};
  if (test_) {
    lines.push_back(fmt::format("pictures     {}", (folder.images() / "losses.png").string()));
    lines.push_back(fmt::format("evaluate     linac evaluate --model {} --data {} --out {}", path.string(),
                                job_.data.test.front(), (folder.root() / "evaluation").string()));
  }
  return lines;
}

}  // namespace linac::train
