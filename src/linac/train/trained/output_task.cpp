#include "linac/train/trained/output_task.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/job/job.h"
#include "linac/base/job/target_values.h"
#include "linac/model/graph/last_activation.h"
#include "linac/model/keras/compile.h"
#include "linac/model/models/logits.h"

namespace linac::trained {
namespace {

using scores::Task;

// Of each output. A file that linac has trained is compiled with the losses of its job; what is no Keras file has its
// job alone.
std::vector<keras::ToldLoss> losses_of(const TrainedModel& model) {
  const size_t outputs = model.graph.outputs.size();
  std::vector<keras::ToldLoss> losses = keras::told_losses(model.compile, model.graph);
  losses.resize(outputs);
  if (!model.notes.is_object() || !model.notes.contains("job")) return losses;
  const job::Job job = job::parse_job(model.notes["job"].get<std::string>(), "linac.json", {});
  std::vector<std::string> of_job = job.train.fit.loss;
  if (of_job.size() == 1) of_job.resize(outputs, of_job.front());
  for (size_t i = 0; i < outputs; ++i) {
    if (losses[i].name.empty() && of_job.size() == outputs && job::has_target(of_job[i])) losses[i].name = of_job[i];
    losses[i].from_logits = job.train.fit.from_logits;
  }
  return losses;
}

bool is_one_value(const graph::Node& output) {
  return output.output.empty() || output.output.back() == 1;
}

Task task_of_loss(const std::string& loss, const graph::Node& output, const std::string& activation) {
  const bool categorical = loss == "categorical_crossentropy" || loss == "categorical_focal_crossentropy" ||
                           loss == "sparse_categorical_crossentropy";
  const bool binary = loss == "binary_crossentropy" || loss == "binary_focal_crossentropy" || loss == "bce";
  if (categorical) return Task::kClasses;
  if (!binary) return Task::kRegression;
  return is_one_value(output) || activation == "softmax" ? Task::kClasses : Task::kLabels;
}

Task task_of_activation(const std::string& activation, const graph::Node& output) {
  if (activation == "softmax" || activation.empty()) return Task::kClasses;
  if (activation != "sigmoid") return Task::kRegression;
  return is_one_value(output) ? Task::kClasses : Task::kLabels;
}

const char* words_of(Task task) {
  return task == Task::kClasses ? "classes" : task == Task::kLabels ? "labels" : "a regression";
}

}  // namespace

std::vector<OutputTask> output_tasks(const TrainedModel& model) {
  const std::vector<int>& outputs = model.graph.outputs;
  const std::vector<keras::ToldLoss> losses = losses_of(model);
  std::vector<OutputTask> tasks;
  for (size_t i = 0; i < outputs.size(); ++i) {
    const graph::Node& output = model.graph.nodes[static_cast<size_t>(outputs[i])];
    const std::string activation = graph::last_activation(model.graph, outputs[i]);
    const std::string& loss = losses[i].name;
    OutputTask& found = tasks.emplace_back();
    if (!loss.empty()) {
      found.task = task_of_loss(loss, output, activation);
      found.logits =
          found.task != Task::kRegression && models::takes_logits(model.graph, i, loss, losses[i].from_logits);
      continue;
    }
    found.task = task_of_activation(activation, output);
    found.assumed = fmt::format("'{}' is taken for {}, {}; --task says another", output.name, words_of(found.task),
                                activation.empty() ? "as its model does not say what it was trained with"
                                                   : fmt::format("by its last activation, {}", activation));
  }
  return tasks;
}

}  // namespace linac::trained
