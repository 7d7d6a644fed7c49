#include "linac/train/fit.h"

#include <fmt/format.h>

#include "linac/base/error.h"
#include "linac/keras/archive.h"
#include "linac/train/fit_evaluation.h"
#include "linac/train/input.h"
#include "linac/train/monitor.h"
#include "linac/train/record.h"
#include "linac/trained/compiled_job.h"
#include "linac/trained/labelled_data.h"
#include "linac/trained/trained_model.h"

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

}  // namespace

FitLoop::FitLoop(const spec::Job& job, comm::Group& group, int concurrency, PhaseClock& clock, FitStart start)
    : job_(job),
      start_(start.network(job)),
      foreign_(start.foreign),
      model_(start.model(job)),
      input_(job, columns_read()),
      clock_(clock),
      update_(job, group, concurrency, clock) {}

std::vector<data::ColumnRequest> FitLoop::columns_read() const {
  need_known_measures();  // before files are opened
  return trained::fit_columns(job_, model_.graph(), model_.target_shapes());
}

void FitLoop::need_known_measures() const {
  std::vector<std::string> known = model_.reported();
  if (!job_.data.test.empty())
    for (const models::Metric& auc : model_.aucs()) known.push_back(auc.measure);
  need_known_monitors(job_, known, "add others to train.fit.metrics; auc wants data.test");
  need_directions(job_, loss_name());
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

int64_t FitLoop::train_events() const {
  return input_.train_events();
}

int64_t FitLoop::test_events() const {
  return input_.test_events();
}

std::vector<std::string> FitLoop::describe_data() const {
  return input_.describe();
}

TrainState FitLoop::initial_state() const {
  TrainState state;
  state.networks.push_back(start_);
  return state;
}

void FitLoop::seek(const TrainState& state) {
  update_.take_place();
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

StepResult FitLoop::step(TrainState& state, double learning_rate, bool stop_wanted) {
  std::vector<data::TableBatch> batches;
  {
    const PhaseClock::Scope time(clock_, TimePhase::kInput);
    batches = input_.next();
  }
  StepResult result;
  update_.run(
      "", model_.measures(), state.networks[kModel], learning_rate,
      [&](size_t i, const graph::GradientReady& ready) {
        return contribution(state, batches[i], update_.owned()[i], ready);
      },
      stop_wanted, result);
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

std::vector<DrawnPicture> FitLoop::draw(const TrainState& state, const RunFolder& folder) const {
  return {draw_measures(columns(), state.history, job_.name, folder)};
}

// With the metrics that Keras knows by the same name and computes alike.
keras::Compilation FitLoop::compilation() const {
  keras::Compilation compilation{.losses = model_.losses(),
                                 .loss_weights = job_.train.fit.loss_weights,
                                 .metrics = {},
                                 .weighted_metrics = {},
                                 .optimizer = trained::keras_optimizer(job_.train.optimizer)};
  for (const models::Metric& metric : model_.metrics()) {
    if (metric.name == "auc" || metric.name == "top_k_accuracy") continue;
    auto& of_outputs = metric.weighted ? compilation.weighted_metrics : compilation.metrics;
    of_outputs.resize(model_.graph().outputs.size());
    of_outputs[metric.output].push_back(metric.name);
  }
  return compilation;
}

std::filesystem::path FitLoop::save_keras(const Network& network, const nlohmann::json& notes,
                                          const std::filesystem::path& folder) const {
  const graph::Graph& graph = model_.graph();
  keras::write_keras(graph, graph::to_weight_values(graph, network.parameters), folder / "model.keras", notes,
                     {.compile = keras::compile_config(compilation(), graph),
                      .optimizer = trained::keras_optimizer_variables(job_.train.optimizer, graph,
                                                                      keras::written_order(graph), network)});
  return folder / "model.keras";
}

std::vector<std::string> FitLoop::hand_over(const TrainState& state, const RunFolder& folder) const {
  const graph::Graph& graph = model_.graph();
  const Network& network = state.networks[kModel];
  const nlohmann::json notes{
      {"job", spec::to_yaml(job_)},
      {"inputs", trained::to_json(trained::input_columns(job_, graph))},
      {"targets", trained::to_json(trained::target_columns(job_, graph, model_.target_shapes()))},
      {"event_weight", job_.data.event_weight},
      {"classes", job_.data.classes}};
  const auto path = foreign_ ? trained::save_trained(*foreign_, network, notes, folder.models())
                             : save_keras(network, notes, folder.models());
  std::vector<std::string> lines{fmt::format("model        {}", path.string())};
  if (input_.test_events() > 0) {
    lines.push_back(fmt::format("pictures     {}", (folder.images() / "losses.png").string()));
    lines.push_back(fmt::format("evaluate     linac evaluate --model {} --data {} --out {}", path.string(),
                                job_.data.test.front(), (folder.root() / "evaluation").string()));
  }
  return lines;
}

}  // namespace linac::train
