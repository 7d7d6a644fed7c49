#include "linac/cli/compute/run_scores.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/log.h"
#include "linac/cli/compute/evaluate_report.h"
#include "linac/cli/data/report_folder.h"
#include "linac/physics/report/scores/words.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/output_task.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/trained/trained_model.h"

namespace linac::cli {
namespace {

// Values of events times replicas, some 30 ns each; and with how few replicas an uncertainty still says something.
constexpr int64_t kReplicatedValuesMax = 20'000'000;
constexpr int kReplicasMin = 20, kReplicasMax = 200;

bool has_test(const job::Data& data) {
  return !data.test.empty() || data.validation_split > 0 || data.split.tests();
}

// Those with a target that the loss explains; of images every pixel would be a row.
std::vector<std::string> judged_outputs(const trained::TrainedModel& model) {
  if (!model.notes.is_object() || !model.notes.contains("targets")) return {};
  const std::vector<data::ColumnRequest> targets = trained::columns_from_json(model.notes["targets"]);
  const std::vector<trained::OutputTask> tasks = trained::output_tasks(model);
  std::vector<std::string> names;
  for (size_t i = 0; i < std::min(targets.size(), tasks.size()); ++i) {
    const graph::Node& output = model.network->outputs()[i];
    if (!targets[i].describe().empty() && tasks[i].assumed.empty() && output.output.size() <= 2)
      names.push_back(output.name);
  }
  return names;
}

std::string headline(const report::ScoreReport& report) {
  const bool classes = report.task != scores::Task::kRegression;
  const char* const score = classes ? "auc_macro" : "resolution";
  return fmt::format("{} {}", report::score_title(report.task, score),
                     report::score_text(scores::find(report.scores_of(0), score, classes ? -1 : 0)));
}

// `place`: below the run's folder.
void judge_output(const job::Job& job, const std::filesystem::path& run, const std::filesystem::path& name,
                  const std::string& output, const std::filesystem::path& place) {
  const auto begun = std::chrono::steady_clock::now();
  ArraySources sources;
  sources.model.model = run.string();
  sources.model.data = job.data.test;
  sources.model.validation_split = job.data.test.empty();
  sources.model.filter = !job.data.test.empty() && !job.data.filter.empty();
  sources.field = output;
  sources.names = {name.filename().string()};
  const Arrays arrays = read_arrays(sources);
  const auto values = static_cast<int64_t>(std::max<size_t>(1, arrays.models[0].values.size()));
  Judging judging;
  judging.bootstrap.replicas =
      static_cast<int>(std::clamp<int64_t>(kReplicatedValuesMax / values, kReplicasMin, kReplicasMax));
  judging.bootstrap.threads = usable_cores();
  const report::ScoreReport report = judge(judging, arrays);
  write_report(run / place, report);
  log::info(fmt::format("evaluation   {}: {} ({} events, {:.1f} s)", (name / place / "report.html").string(),
                        headline(report), report.events,
                        std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count()));
}

}  // namespace

void judge_run(const job::Job& job, const std::filesystem::path& run, const std::string& name) {
  try {
    const bool makes_cells = job.model.is<job::CellChainSettings>();  // its file is no network of labels
    if (makes_cells || !has_test(job.data) || !trained::model_of_run(run)) return;
    const std::vector<std::string> outputs = judged_outputs(trained::load_trained(run));
    const std::filesystem::path place = "evaluation";
    const bool several = outputs.size() > 1;
    for (const std::string& output : outputs) judge_output(job, run, name, output, several ? place / output : place);
  } catch (const std::exception& error) {
    log::warn(fmt::format("[evaluation] {}; the training is complete all the same", error.what()));
  }
}

}  // namespace linac::cli
