#include <fmt/chrono.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
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

namespace linac::cli {
namespace {

constexpr int64_t kFewEvents = 30;  // of a class: its scores scatter widely, and so do their uncertainties

struct EvaluateOptions {
  ArraySources sources;
  std::string out, task = "classification";
  std::vector<std::string> classes;
  scores::BootstrapOptions bootstrap;
  bool json = false;
};

void judge_classes(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  const size_t columns = arrays.models[0].width;
  const scores::Labels labels(arrays.targets.table(), columns, options.classes);
  std::vector<scores::Predictions> predictions;
  for (const Array& model : arrays.models) predictions.emplace_back(model.table(), labels);
  report.parts = labels.names();
  for (size_t label = 0; label < labels.classes(); ++label) {
    const int64_t events = labels.support(label);
    report.support.push_back(events);
    if (events == 0) report.remarks.push_back(fmt::format("no event is of '{}'", labels.names()[label]));
    if (events > 0 && events < kFewEvents)
      report.remarks.push_back(fmt::format("only {} events are of '{}'", events, labels.names()[label]));
  }
  report.judgement = scores::judge_classifiers(labels, predictions, options.bootstrap);
}

void judge_outputs(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  const size_t outputs = arrays.targets.width;
  if (!options.classes.empty() && options.classes.size() != outputs) {
    throw user_error(
        fmt::format("[evaluate] --classes names {} outputs, but the targets have {}", options.classes.size(), outputs));
  }
  report.parts = options.classes;
  for (size_t i = report.parts.size(); i < outputs; ++i)
    report.parts.push_back(outputs == 1 ? "output" : fmt::format("output {}", i));
  std::vector<scores::Table> tables;
  for (const Array& model : arrays.models) tables.push_back(model.table());
  report.judgement = scores::judge_regressions(arrays.targets.table(), tables, options.bootstrap);
}

// What each event counts, checked; empty where all count the same.
std::vector<double> weights_of(const Arrays& arrays) {
  const Array& weights = arrays.weights;
  const size_t events = arrays.targets.table().events();
  if (weights.values.empty()) return {};
  if (weights.width != 1 || weights.values.size() != events) {
    throw data_error(
        fmt::format("[evaluate] {} has {} events of {} values, but wanted is one weight for each of the {} "
                    "events",
                    weights.name, weights.table().events(), weights.width, events));
  }
  for (size_t event = 0; event < events; ++event) {
    if (std::isfinite(weights.values[event])) continue;
    throw data_error(
        fmt::format("[evaluate] {}: event {} has the weight {}", weights.name, event, weights.values[event]));
  }
  return {weights.values.begin(), weights.values.end()};
}

void add_weight_facts(const EvaluateOptions& options, const Arrays& arrays, report::ScoreReport& report) {
  const std::vector<double>& weights = options.bootstrap.event_weights;
  if (weights.empty()) return;
  report.facts.emplace_back("weights of the events", arrays.weights.name);
  report.remarks.push_back(
      fmt::format("events count by their weights: {:.6g} in all, worth {:.0f} events of one weight",
                  std::accumulate(weights.begin(), weights.end(), 0.0), scores::effective_events(weights)));
}

report::ScoreReport make_report(const EvaluateOptions& options, const Arrays& arrays) {
  report::ScoreReport report;
  report.models = arrays.names;
  report.title = fmt::format("{} on {}", fmt::join(arrays.names, " beside "), arrays.targets.name);
  report.remarks = arrays.remarks;
  report.events = static_cast<int64_t>(arrays.targets.table().events());
  report.replicas = options.bootstrap.replicas;
  if (options.task == "classification") {
    judge_classes(options, arrays, report);
  } else {
    judge_outputs(options, arrays, report);
  }
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
  const Arrays arrays = read_arrays(options.sources);
  if (options.classes.empty() && options.task == "classification") options.classes = arrays.classes;
  options.bootstrap.event_weights = weights_of(arrays);
  const report::ScoreReport report = make_report(options, arrays);
  if (!options.out.empty()) write_report(options.out, report);
  if (options.json) {
    fmt::print("{}\n", report_text(report));
    return;
  }
  fmt::print("{}", report::to_text(report));
  for (const std::string& remark : report.remarks) fmt::print("  note: {}\n", remark);
  fmt::print("  {} events", report.events);
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
                   "the second of two classes");
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
                   "FILE:DATA_SET with the truth: one-hot [events, classes], class numbers [events], or texts that "
                   "--classes names; with --model a column of the data (default: what the output was trained on)");
  verb->add_option("--weights", options->sources.weights,
                   "what each event counts, below zero too: FILE:DATA_SET [events]; with --model a column of the data "
                   "(default: data.event_weight of its training; none: all the same)");
  verb->add_option("--task", options->task, "what the model does")
      ->check(CLI::IsMember({"classification", "regression"}))
      ->capture_default_str();
  verb->add_option("--classes", options->classes, "names of the classes (or outputs), with commas between")
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
      "  linac evaluate --model runs/calo --field energy --task regression --data 'test/*.parquet'\n"
      "  linac evaluate --predictions scores.h5 --targets events.h5:encoded_label --classes QCD,ttbar,W+jets\n"
      "  linac evaluate --predictions linac.h5 --compare keras.h5:label --names linac,Keras \\\n"
      "      --targets events.h5:encoded_label --out report\n"
      "  linac evaluate --predictions energies.h5 --targets events.h5:energy --task regression");
  verb->callback([options] { run_evaluate(*options); });
}

}  // namespace linac::cli
