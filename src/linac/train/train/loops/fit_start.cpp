#include "linac/train/train/loops/fit_start.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/model/keras/archive.h"
#include "linac/model/models/inclusive_classifier/networks.h"
#include "linac/train/train/input/input.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/job_transform.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/open_inputs.h"

namespace linac::train {
namespace {

models::SupervisedSettings settings_of(const job::Fit& fit) {
  return {.losses = fit.loss,
          .loss_weights = fit.loss_weights,
          .metrics = fit.metrics,
          .weighted_metrics = fit.weighted_metrics,
          .class_weights = fit.class_weight,
          .label_smoothing = fit.label_smoothing,
          .from_logits = fit.from_logits};
}

FitStart of_foreign(const job::Job& job, models::ForeignModel model) {
  FitStart start{.settings = settings_of(job.train.fit)};
  start.parameters = model.parameters();
  start.foreign = std::move(model);
  if (start.settings.losses.empty())
    throw user_error(fmt::format("[fit] a {} model wants train.fit.loss", job.model.kind()));
  return start;
}

}  // namespace

std::vector<data::ColumnRequest> labelled_columns(const job::Job& job, const models::Supervised& model) {
  const graph::Graph& graph = model.graph();
  auto columns = trained::fit_columns(job, graph, model.targets());
  for (size_t i = 0; i < model.targets().size(); ++i) {
    const size_t number = model.targets()[i].output;
    const graph::Node& output = graph.nodes[static_cast<size_t>(graph.outputs[number])];
    data::ColumnRequest& column = columns[graph.inputs.size() + i];
    column.texts = trained::text_classes(job, i, output, model.losses()[number], column);
  }
  return columns;
}

namespace {

// Sizes that the model leaves open, by the job or by the events to train on. The columns are those of the training, so
// that their files are packed once.
void close_sizes(const job::Job& job, FitStart& start) {
  const std::vector<graph::Shape> given = trained::given_shapes(job, start.graph);
  const bool says = std::any_of(given.begin(), given.end(), [](const graph::Shape& shape) { return !shape.empty(); });
  if (!says && !graph::has_open_sizes(start.graph)) return;
  models::Numerics undivided = numerics_of(job);
  undivided.split = {};
  const models::Supervised provisional(start.graph, start.settings, undivided);
  const std::vector<data::ColumnRequest> columns = labelled_columns(job, provisional);
  trained::InputSizes sizes =
      trained::input_sizes(start.graph, given, job.data.train, columns, trained::transform_of(job, columns));
  start.graph = graph::with_input_shapes(std::move(start.graph), sizes.shapes);
  for (std::string& words : sizes.words) start.remarks.emplace_back("input", std::move(words));
}

}  // namespace

Network FitStart::network(const job::Job& job) {
  const optimizer::Settings& optimizer = job.train.optimizer;
  Network fresh = trained::fresh_network("model", foreign ? foreign->graph() : graph, std::move(parameters), optimizer);
  if (optimizer.restore)
    trained::restore_optimizer(keras_file, optimizer, graph, order, std::move(optimizer_state), fresh);
  return fresh;
}

models::Supervised FitStart::model(const job::Job& job) {
  return foreign ? models::Supervised(*foreign, std::move(settings))
                 : models::Supervised(std::move(graph), std::move(settings), numerics_of(job));
}

FitStart inclusive_classifier_start(const job::Job& job) {
  FitStart start{.settings = settings_of(job.train.fit)};
  start.graph = models::inclusive_classifier::network(job.model.as<job::InclusiveClassifierSettings>());
  start.parameters = graph::Parameters::of(start.graph);
  graph::initialize(start.graph, job.train.seed, 0, start.parameters);
  if (start.settings.losses.empty()) start.settings.losses = {"categorical_crossentropy"};
  return start;
}

FitStart keras_start(const job::Job& job, const trained::KerasFile* read) {
  FitStart start{.settings = settings_of(job.train.fit)};
  start.keras_file = trained::model_of_job(job.model.as<job::KerasSettings>().file);
  trained::KerasFile own;
  if (read == nullptr) own = trained::read_model(job, start.keras_file);
  const trained::KerasFile& file = read == nullptr ? own : *read;
  start.parameters = graph::from_weight_values(file.model.graph, file.model.weights);
  start.order = file.model.order;
  start.graph = file.model.graph;
  start.optimizer_state = file.optimizer;
  if (!file.drawn.empty()) {
    const std::string layers = fmt::format("{}", fmt::join(file.drawn, ", "));
    if (job.train.optimizer.restore)
      throw user_error(
          fmt::format("[fit] model.layers makes the weights of {} anew, and {} has no state of an optimizer "
                      "for these; set train.optimizer.restore=false",
                      layers, start.keras_file));
    start.remarks.emplace_back("layers", fmt::format("{}: other weights than the file's, drawn by train.seed", layers));
  }
  close_sizes(job, start);
  return start;
}

FitStart torchscript_start(const job::Job& job) {
  std::vector<std::pair<std::string, graph::Shape>> inputs;
  for (const job::DataColumn& input : job.data.inputs) inputs.emplace_back(input.name, input.shape);
  return of_foreign(job, models::ForeignModel::torchscript(
                             trained::model_of_job(job.model.as<job::TorchScriptSettings>().file), inputs));
}

FitStart plugin_start(const job::Job& job) {
  const auto& settings = job.model.as<job::CustomSettings>();
  return of_foreign(job,
                    models::ForeignModel::plugin(models::open_plugin(settings.file, settings.options), job.train.seed));
}

}  // namespace linac::train
