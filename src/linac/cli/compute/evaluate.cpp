#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/version.h"
#include "linac/cli/compute/evaluate_arrays.h"
#include "linac/cli/compute/report_folder.h"
#include "linac/cli/compute/verbs.h"
#include "linac/io/storage/output.h"
#include "linac/physics/report/scores/report.h"
#include "linac/physics/report/scores/words.h"

namespace linac::cli {
namespace {

constexpr int64_t kFewEvents = 30;  // of a class: its scores scatter widely, and so do their uncertainties

struct EvaluateOptions {
  ArraySources sources;
  std::string out, task;
  std::vector<std::string> classes;
  scores::BootstrapOptions bootstrap;
  bool json = false;
};

std::vector<scores::Table> predictions_in(const Arrays& arrays) {
  std::vector<scores::Table> tables;
  for (const Array& model : arrays.models) tables.push_back(arrays.table(model));
  return tables;
}

// How many events are of a class, or have a label: "is of" and "are of", "has" and "have".
void add_support(int64_t events, const char* of_one, const char* of_several, const std::string& name,
                 report::ScoreReport& report) {
  report.support.push_back(events);
  if (events == 0) report.remarks.push_back(fmt::format("no event {} '{}'", of_one, name));
  if (events > 0 && events < kFewEvents)
    report.remarks.push_back(fmt::format("only {} events {} '{}'", events, of_several, name));
}

void judge_classes(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  const scores::Labels labels(arrays.table(arrays.targets), arrays.models[0].width, options.classes);
  std::vector<scores::Predictions> predictions;
  for (const scores::Table& table : predictions_in(arrays)) predictions.emplace_back(table, labels);
  report.parts = labels.names();
  for (size_t label = 0; label < labels.classes(); ++label)
    add_support(labels.support(label), "is of", "are of", labels.names()[label], report);
  report.judgement = scores::judge_classifiers(labels, predictions, options.bootstrap);
}

// Of the labels, or the outputs of a regression.
std::vector<std::string> names_of(const EvaluateOptions& options, const Arrays& arrays, const char* what) {
  const size_t count = arrays.targets.width;
  std::vector<std::string> names = options.classes;
  if (!names.empty() && names.size() != count) {
    throw user_error(
        fmt::format("[evaluate] --classes names {} {}s, but the targets have {}", names.size(), what, count));
  }
  for (size_t i = names.size(); i < count; ++i) names.push_back(count == 1 ? what : fmt::format("{} {}", what, i));
  return names;
}

void judge_labels(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  report.parts = names_of(options, arrays, "label");
  report.judgement = scores::judge_labels(arrays.table(arrays.targets), predictions_in(arrays), options.bootstrap);
  const std::vector<float>& truth = arrays.targets.values;
  for (size_t label = 0; label < report.parts.size(); ++label) {
    int64_t events = 0;
    for (size_t i = label; i < truth.size(); i += report.parts.size()) events += truth[i] == 1 ? 1 : 0;
    add_support(events, "has", "have", report.parts[label], report);
  }
}

void judge_outputs(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  report.parts = names_of(options, arrays, "output");
  report.judgement = scores::judge_regressions(arrays.table(arrays.targets), predictions_in(arrays), options.bootstrap);
}

void judge(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  switch (report.task = arrays.task) {
    case scores::Task::kClasses:
      return judge_classes(options, arrays, report);
    case scores::Task::kLabels:
      return judge_labels(options, arrays, report);
    case scores::Task::kRegression:
      return judge_outputs(options, arrays, report);
  }
}

// What each row counts, checked; empty where all count the same.
std::vector<double> weights_of(const Arrays& arrays) {
  const Array& weights = arrays.weights;
  if (weights.values.empty()) return {};
  if (weights.width != 1 || weights.values.size() != arrays.rows()) {
    throw data_error(
        fmt::format("[evaluate] {} has {} events of {} values, but wanted is one weight for each of the {} "
                    "events",
                    weights.name, weights.values.size() / weights.width, weights.width, arrays.rows()));
  }
  return {weights.values.begin(), weights.values.end()};
}

// "average precision of QCD, ttbar; accuracy"
std::string words_of(const std::vector<scores::ScoreName>& names, const std::vector<std::string>& parts) {
  std::vector<std::string> words;
  std::string last;
  for (const auto& [name, part] : names) {
    const std::string of = part < 0 ? "" : parts[static_cast<size_t>(part)];
    if (name == last && part >= 0)
      words.back() += ", " + of;
    else
      words.push_back(report::score_title(name) + (of.empty() ? "" : " of " + of));
    last = name;
  }
  return fmt::format("{}", fmt::join(words, "; "));
}

void add_weight_facts(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  const std::vector<double>& weights = options.bootstrap.event_weights;
  if (weights.empty()) return;
  report.facts.emplace_back("weights of the events", arrays.weights.name);
  report.weights = report::WeightFacts{.sum = std::accumulate(weights.begin(), weights.end(), 0.0),
                                       .effective = scores::effective_events(weights),
                                       .below_zero = scores::below_zero(weights)};
  report.remarks.push_back(
      fmt::format("events count by their weights: {:.6g} in all, worth {:.0f} events of one weight",
                  report.weights->sum, report.weights->effective));
  if (report.weights->below_zero == 0) return;
  std::vector<scores::ScoreName> left_out = report.left_out();
  std::ranges::stable_sort(left_out, {}, &scores::ScoreName::first);
  report.remarks.push_back(fmt::format(
      "{} of the {} weights are below zero{}", report.weights->below_zero, weights.size(),
      left_out.empty() ? "" : "; left out, as they cannot be under such weights: " + words_of(left_out, report.parts)));
}

report::ScoreReport make_report(const EvaluateOptions& options, const Arrays& arrays) {
  report::ScoreReport report;
  report.models = arrays.names;
  report.title = fmt::format("{} on {}", fmt::join(arrays.names, " beside "), arrays.targets.name);
  report.remarks = arrays.remarks;
  report.events = static_cast<int64_t>(arrays.rows());
  report.replicas = options.bootstrap.replicas;
  judge(options, arrays, report);
  report.facts = {{"made", fmt::format("{:%Y-%m-%d %H:%M} UTC, linac {}", fmt::gmtime(std::time(nullptr)), kVersion)},
                  {"targets", arrays.targets.name}};
  for (size_t i = 0; i < arrays.models.size(); ++i)
    report.facts.emplace_back("predictions of " + arrays.names[i], arrays.models[i].name);
  add_weight_facts(options, arrays, report);
  report.facts.emplace_back("bootstrap replicas", fmt::format("{}, seed {}", report.replicas, options.bootstrap.seed));
  return report;
}

void run_evaluate(EvaluateOptions options) {
  storage::need_local_folder(options.out, "evaluate");
  if (options.bootstrap.threads == 0) options.bootstrap.threads = usable_cores();
  options.sources.model.classes = options.classes;
  if (!options.task.empty()) options.sources.model.task = scores::task_named(options.task);
  if (options.sources.model.logits && options.sources.model.task == scores::Task::kRegression)
    throw user_error("[evaluate] --logits is for classes and labels; leave it out, or --task regression");
  const Arrays arrays = read_arrays(options.sources);
  const bool named = arrays.task == scores::Task::kClasses ||
                     (arrays.task == scores::Task::kLabels && arrays.classes.size() == arrays.targets.width);
  if (options.classes.empty() && named) options.classes = arrays.classes;
  options.bootstrap.event_weights = weights_of(arrays);
  options.bootstrap.event_of_row = arrays.event_of_row;
  const report::ScoreReport report = make_report(options, arrays);
  if (!options.out.empty()) write_report(options.out, report);
  if (options.json) {
    fmt::print("{}\n", report_text(report));
    return;
  }
  fmt::print("{}", report::to_text(report));
  for (const std::string& remark : report.remarks) fmt::print("  note: {}\n", remark);
  fmt::print("  {} {}", report.events, arrays.event_of_row.empty() ? "events" : "steps");
  if (!options.out.empty()) fmt::print(", report  {}", (std::filesystem::path(options.out) / "report.html").string());
  fmt::print("\n");
}

}  // namespace

void add_evaluate_verb(CLI::App& app) {
  auto options = std::make_shared<EvaluateOptions>();
  options->bootstrap.threads = 0;
  auto* verb = add_compute_verb(app, "evaluate");
  verb->add_option("--predictions", options->sources.predictions,
                   "HDF5 file of `linac predict`, or FILE:DATA_SET: probabilities [events, classes], or [events, 1] of "
                   "the second of two classes; of labels, or numbers, [events, labels or outputs]");
  verb->add_option(
      "--model", options->sources.model.model,
      "in place of predictions: a .keras file or a run's folder (RUN, RUN@best, RUN@last, RUN@epoch=N), to compute "
      "them");
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
  verb->add_option("--classes", options->classes, "names of the classes, labels or outputs, with commas between")
      ->delimiter(',');
  verb->add_option("--compare", options->sources.compare,
                   "FILE or FILE:DATA_SET: another model's predictions of the events");
  verb->add_option("--names", options->sources.names, "what to call the models, with commas between")->delimiter(',');
  verb->add_option("--out", options->out, "folder for report.html, report.json and the pictures");
  verb->add_option("--bootstraps", options->bootstrap.replicas, "replicas behind the uncertainties; 0: none")
      ->check(CLI::Range(0, 10000))
      ->capture_default_str();
  verb->add_option("--seed", options->bootstrap.seed, "of the bootstrap")->capture_default_str();
  verb->add_option("--threads", options->bootstrap.threads, "0: as many as there are processors")
      ->check(CLI::Range(0, 1024));
  verb->add_flag("--json", options->json, "print report.json");
  verb->footer(
      "Examples:\n"
      "  linac evaluate --model runs/topology --data 'test/*.parquet' --out report\n"
      "  linac evaluate --model runs/topology --validation-split\n"
      "  linac evaluate --model runs/calo --field energy --data 'test/*.parquet'\n"
      "  linac evaluate --predictions scores.h5 --targets events.h5:encoded_label --classes QCD,ttbar,W+jets\n"
      "  linac evaluate --predictions linac.h5 --compare keras.h5:label --names linac,Keras \\\n"
      "      --targets events.h5:encoded_label --out report\n"
      "  linac evaluate --predictions energies.h5 --targets events.root:energy --task regression");
  verb->callback([options] { run_evaluate(*options); });
}

}  // namespace linac::cli
