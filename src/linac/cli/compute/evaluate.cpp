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
#include <thread>
#include <vector>

#include "linac/base/error.h"
#include "linac/base/version.h"
#include "linac/cli/compute/model_events.h"
#include "linac/cli/compute/report_folder.h"
#include "linac/cli/compute/verbs.h"
#include "linac/data/event_arrays.h"
#include "linac/report/scores/report.h"

namespace linac::cli {
namespace {

constexpr int64_t kFewEvents = 30;  // of a class: its scores scatter widely, and so do their uncertainties

struct EvaluateOptions {
  ModelEventsOptions model;
  std::string predictions, field, targets, weights, compare, out, task = "classification";
  std::vector<std::string> classes, names;
  scores::BootstrapOptions bootstrap;
  bool json = false;
};

/// [events][width] with a name for messages.
struct Array {
  std::vector<float> values;
  size_t width = 1;
  std::string name;
  scores::Table table() const { return {.values = values, .width = width, .name = name}; }
};

/// What there is to judge, wherever it comes from.
struct Arrays {
  Array targets;
  Array weights;              // no values: all events count 1
  std::vector<Array> models;  // one or two
  std::vector<std::string> names;
  std::vector<std::string> classes;  // as the model names them; may be empty
};

/// "FILE" or "FILE:DATA_SET".
struct Source {
  std::string file, data_set;
};

Source split(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(text)) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

/// The data set of that name; without one the file's only one.
Array read(const Source& source, const std::string& option) {
  std::string name = source.data_set;
  if (name.empty()) {
    const std::vector<std::string> names = data::array_names(source.file);
    if (names.size() != 1) {
      throw user_error(fmt::format("[evaluate] {} has {} data sets ({}); say which one: --{} {}:NAME", source.file,
                                   names.size(), fmt::join(names, ", "), option, source.file));
    }
    name = names.front();
  }
  const data::EventArrays arrays(source.file, {name});
  const std::vector<int64_t> shape = arrays.shape(0);
  const int64_t events = arrays.events();
  if (shape.size() > 1 || (shape.size() == 1 && shape[0] < 1)) {
    throw data_error(fmt::format("[evaluate] {}: '{}' has events of shape ({}); wanted are one number or one list",
                                 source.file, name, fmt::join(shape, ", ")));
  }
  return {.values = arrays.read(0, 0, events),
          .width = shape.empty() ? 1 : static_cast<size_t>(shape[0]),
          .name = fmt::format("{}:{}", source.file, name)};
}

/// The model's first output for labelled events, and their truth.
Arrays compute_arrays(const EvaluateOptions& options) {
  ModelEventsOptions of_model = options.model;
  of_model.target = options.targets;
  of_model.weight = options.weights;
  const ModelEvents model(of_model, Truth::kWanted);
  const graph::Node& output = model.network().outputs()[0];
  if (output.output.size() > 1) {
    throw user_error(fmt::format("[evaluate] output '{}' is of shape {}; wanted are one number or one list",
                                 output.name, graph::to_string(output.output)));
  }
  Arrays arrays{
      .targets = {.values = {},
                  .width = 1,
                  .name = fmt::format("{}:{}", fmt::join(of_model.data, ", "), model.target())},
      .weights = {.values = {},
                  .width = 1,
                  .name = fmt::format("{}:{}", fmt::join(of_model.data, ", "), model.weight())},
      .models = {{.values = {}, .width = static_cast<size_t>(graph::elements(output.output)), .name = of_model.model}},
      .names = options.names,
      .classes = model.classes()};
  model.run([&](int64_t, const std::vector<std::vector<float>>& outputs, const ModelEvents::Known& known) {
    arrays.models[0].values.insert(arrays.models[0].values.end(), outputs[0].begin(), outputs[0].end());
    arrays.targets.values.insert(arrays.targets.values.end(), known.truth.begin(), known.truth.end());
    arrays.weights.values.insert(arrays.weights.values.end(), known.weights.begin(), known.weights.end());
  });
  arrays.targets.width = arrays.targets.values.size() / static_cast<size_t>(model.events());
  return arrays;
}

Arrays read_predictions(const EvaluateOptions& options) {
  Arrays arrays{.targets = read(split(options.targets), "targets"),
                .weights = {},
                .models = {},
                .names = options.names,
                .classes = {}};
  if (!options.weights.empty() && options.weights != "none") arrays.weights = read(split(options.weights), "weights");
  Source first = split(options.predictions);
  if (!options.field.empty()) first.data_set = options.field;
  arrays.models.push_back(read(first, "predictions"));
  return arrays;
}

Arrays read_arrays(const EvaluateOptions& options) {
  if (options.model.model.empty() == options.predictions.empty())
    throw user_error("[evaluate] give either --predictions FILE, or --model FILE and --data FILES");
  if (!options.model.model.empty() && options.model.data.empty())
    throw user_error("[evaluate] --model wants the labelled events: --data FILES");
  if (options.model.model.empty() && options.targets.empty())
    throw user_error("[evaluate] --predictions wants the truth: --targets FILE:DATA_SET");
  Arrays arrays = options.model.model.empty() ? read_predictions(options) : compute_arrays(options);
  std::vector<std::string> files{options.model.model.empty() ? split(options.predictions).file : options.model.model};
  if (!options.compare.empty()) {
    const Source second = split(options.compare);
    files.push_back(second.file);
    arrays.models.push_back(read(second, "compare"));
  }
  if (arrays.names.empty())
    for (const std::string& file : files) arrays.names.push_back(std::filesystem::path(file).stem().string());
  if (arrays.names.size() != arrays.models.size()) {
    throw user_error(fmt::format("[evaluate] --names has {} names, but there are {} sets of predictions",
                                 arrays.names.size(), arrays.models.size()));
  }
  return arrays;
}

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
  if (options.bootstrap.threads == 0)
    options.bootstrap.threads = std::max(1, static_cast<int>(std::thread::hardware_concurrency()));
  const Arrays arrays = read_arrays(options);
  if (options.classes.empty()) options.classes = arrays.classes;
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
  auto* verb = app.add_subcommand("evaluate", "Scores of a model's predictions on labelled events: table, report");
  verb->add_option("--predictions", options->predictions,
                   "HDF5 file of `linac predict`, or FILE:DATA_SET: probabilities [events, classes], or [events, 1] of "
                   "the second of two classes");
  verb->add_option("--model", options->model.model,
                   "in place of predictions: a .keras file or a run's folder, to compute them");
  verb->add_option("--data", options->model.data,
                   "of the model: files, globs or URLs of labelled events (HDF5, Parquet, TFRecord)");
  verb->add_option("--input", options->model.fields,
                   "of the model: INPUT=COLUMN, where the names differ (may be repeated)")
      ->type_size(1)
      ->allow_extra_args(false);
  verb->add_option("--field", options->field, "data set of the predictions, where the file has several");
  verb->add_option("--targets", options->targets,
                   "FILE:DATA_SET with the truth: one-hot [events, classes] or class numbers [events]; with --model a "
                   "column of the data (default: what the model was trained on)");
  verb->add_option("--weights", options->weights,
                   "what each event counts, below zero too: FILE:DATA_SET [events]; with --model a column of the data "
                   "(default: data.event_weight of its training; none: all the same)");
  verb->add_option("--task", options->task, "what the model does")
      ->check(CLI::IsMember({"classification", "regression"}))
      ->capture_default_str();
  verb->add_option("--classes", options->classes, "names of the classes (or outputs), with commas between")
      ->delimiter(',');
  verb->add_option("--compare", options->compare, "FILE or FILE:DATA_SET: another model's predictions of the events");
  verb->add_option("--names", options->names, "what to call the models, with commas between")->delimiter(',');
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
      "  linac evaluate --predictions scores.h5 --targets events.h5:encoded_label --classes QCD,ttbar,W+jets\n"
      "  linac evaluate --predictions linac.h5 --compare keras.h5:label --names linac,Keras \\\n"
      "      --targets events.h5:encoded_label --out report\n"
      "  linac evaluate --predictions energies.h5 --targets events.h5:energy --task regression");
  verb->callback([options] { run_evaluate(*options); });
}

}  // namespace linac::cli
