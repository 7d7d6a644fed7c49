#include <fmt/format.h>

#include <filesystem>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/cli/compute/evaluate_arrays.h"
#include "linac/cli/compute/evaluate_folds.h"
#include "linac/cli/compute/verbs.h"
#include "linac/cli/data/report_folder.h"
#include "linac/io/storage/output.h"
#include "linac/physics/report/scores/report.h"

namespace linac::cli {
namespace {

struct EvaluateOptions {
  ArraySources sources;
  std::string out, task;
  std::vector<std::string> models;
  Judging judging;
  bool json = false;
};

void need_different(const std::vector<std::string>& names, const char* option) {
  std::set<std::string_view> seen;
  for (const std::string& name : names)
    if (!seen.insert(name).second)
      throw user_error(fmt::format("[evaluate] {} has '{}' twice; give each a name of its own", option, name));
}

void run_evaluate(EvaluateOptions options) {
  storage::need_local_folder(options.out, "evaluate");
  need_different(options.judging.classes, "--classes");
  need_different(options.sources.names, "--names");
  ArraySources& sources = options.sources;
  if (options.judging.bootstrap.threads == 0) options.judging.bootstrap.threads = usable_cores();
  sources.model.classes = options.judging.classes;
  if (!options.task.empty()) sources.model.task = scores::task_named(options.task);
  if (sources.model.logits && sources.model.task == scores::Task::kRegression)
    throw user_error("[evaluate] --logits is for classes and labels; leave it out, or --task regression");
  if (options.models.size() == 1) sources.model.model = options.models[0];
  const report::ScoreReport report = options.models.size() > 1 ? judge_folds(options.judging, sources, options.models)
                                                               : judge(options.judging, read_arrays(sources));
  if (!options.out.empty()) write_report(options.out, report);
  if (options.json) {
    fmt::print("{}\n", report_text(report));
    return;
  }
  fmt::print("{}", report::to_text(report));
  for (const std::string& remark : report.remarks) fmt::print("  note: {}\n", remark);
  fmt::print("  {} {}", report.events, report.of_steps ? "steps" : "events");
  if (!options.out.empty()) fmt::print(", report  {}", (std::filesystem::path(options.out) / "report.html").string());
  fmt::print("\n");
}

}  // namespace

void add_evaluate_verb(CLI::App& app) {
  auto options = std::make_shared<EvaluateOptions>();
  options->judging.bootstrap.threads = 0;
  auto* verb = add_handed_verb(app, "evaluate");
  verb->add_option("--predictions", options->sources.predictions,
                   "file of `linac predict`, or FILE:COLUMN of one of any format: probabilities [events, classes], or "
                   "[events, 1] of "
                   "the second of two classes; of labels, or numbers, [events, labels or outputs]");
  verb->add_option(
          "--model", options->models,
          "in place of predictions: a .keras file or a run's folder (RUN, RUN@best, RUN@last, RUN@epoch=N), to compute "
          "them; repeated, the folds of a cross-validation, which are judged with their mean and spread, without "
          "--data "
          "each on the events that tested it")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--data", options->sources.model.data,
                   "of the model: files, globs or URLs of labelled events (HDF5, Parquet, TFRecord)");
  verb->add_flag("--validation-split", options->sources.model.validation_split,
                 "in place of --data: the events that tested the model in its training (data.validation_split, or "
                 "data.split)");
  verb->add_option(
          "--part", options->sources.model.part,
          "of --data only the events that data.split of the training puts into this part: train, validation or "
          "test")
      ->check(CLI::IsMember({"train", "validation", "test"}));
  verb->add_flag("--filter", options->sources.model.filter,
                 "of --data only the events that data.filter of the training selects");
  verb->add_option("--input", options->sources.model.fields,
                   "of the model: INPUT=COLUMN, where the names differ, or INPUT=COLUMN,COLUMN,... to join columns "
                   "(may be repeated)")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option(
      "--field", options->sources.field,
      "data set of the predictions, where the file has several; with --model the output to judge (default: the "
      "first)");
  verb->add_option("--targets", options->sources.targets,
                   "FILE:COLUMN with the truth, of any format of events: one-hot [events, classes], class numbers "
                   "[events], or texts that --classes names; labels [events, labels] of 0 and 1; with --model a column "
                   "of the data (default: what the output was trained on)");
  verb->add_option("--weights", options->sources.weights,
                   "what each event counts, below zero too: FILE:COLUMN [events]; with --model a column of the data "
                   "(default: data.event_weight of its training; none: all the same)");
  verb->add_option("--task", options->task,
                   "what the output tells: one of several classes (also called classification), labels of which an "
                   "event may have any number, or numbers (default: what the model was trained or compiled with; of "
                   "predictions classes)")
      ->check(CLI::IsMember({"classes", "labels", "regression", "classification"}));
  verb->add_flag("--logits", options->sources.model.logits,
                 "the values are logits, to which softmax or sigmoid is applied; a model that linac trained or Keras "
                 "compiled with from_logits says it itself");
  verb->add_option("--classes", options->judging.classes,
                   "names of the classes, labels or outputs, with commas between")
      ->delimiter(',');
  verb->add_option("--compare", options->sources.compare,
                   "FILE or FILE:DATA_SET: another model's predictions of the events");
  verb->add_option("--names", options->sources.names, "what to call the models, with commas between")->delimiter(',');
  verb->add_option("--out", options->out, "folder for report.html, report.json and the pictures");
  verb->add_option("--bootstraps", options->judging.bootstrap.replicas, "replicas behind the uncertainties; 0: none")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  verb->add_option("--seed", options->judging.bootstrap.seed, "of the bootstrap")->capture_default_str();
  verb->add_option("--threads", options->judging.bootstrap.threads, "0: as many as there are processors")
      ->check(CLI::Range(0, 1024));
  verb->add_flag("--json", options->json, "print report.json");
  verb->footer(
      "Examples:\n"
      "  linac evaluate --model runs/topology --data 'test/*.parquet' --out report\n"
      "  linac evaluate --model runs/topology --validation-split\n"
      "  linac evaluate --model runs/fold-1 --model runs/fold-2 --model runs/fold-3 --out report\n"
      "  linac evaluate --model runs/calo --field energy --data 'test/*.parquet'\n"
      "  linac evaluate --predictions scores.h5 --targets events.h5:encoded_label --classes QCD,ttbar,W+jets\n"
      "  linac evaluate --predictions linac.h5 --compare keras.h5:label --names linac,Keras \\\n"
      "      --targets events.h5:encoded_label --out report\n"
      "  linac evaluate --predictions energies.h5 --targets events.root:energy --task regression");
  verb->callback([options] { run_evaluate(*options); });
}

}  // namespace linac::cli
