#include "linac/cli/compute/model_events.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>

#include "linac/base/base/cores.h"
#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/plural.h"
#include "linac/base/base/progress.h"
#include "linac/base/base/shell_word.h"
#include "linac/base/base/signals.h"
#include "linac/base/base/thread_pool.h"
#include "linac/base/job/job_paths.h"
#include "linac/base/job/run_choice.h"
#include "linac/cli/compute/named_model.h"
#include "linac/cli/compute/real_steps.h"
#include "linac/cli/compute/truth_column.h"
#include "linac/model/graph/masks.h"
#include "linac/model/models/torch_threads.h"
#include "linac/train/trained/chosen_model.h"
#include "linac/train/trained/input_values.h"
#include "linac/train/trained/job_transform.h"
#include "linac/train/trained/labelled_data.h"
#include "linac/train/trained/open_inputs.h"
#include "linac/train/trained/run_models.h"
#include "linac/train/trained/trained_model.h"

namespace linac::cli {
namespace {

/// "; did you mean b? (it has: a, b)"
std::string those_there(const std::string& word, const std::vector<std::string>& names) {
  const auto near = nearest(word, names);
  return fmt::format("{} (it has: {})", near ? fmt::format("; did you mean {}?", *near) : "", fmt::join(names, ", "));
}

/// "input=column", as a map.
std::map<std::string, std::string> renamed(const ModelEventsOptions& options) {
  std::map<std::string, std::string> columns;
  for (const std::string& field : options.fields) {
    const size_t equals = field.find('=');
    if (equals == std::string::npos || equals == 0)
      throw user_error(fmt::format("[model] --input {}: wanted is INPUT=COLUMN, or INPUT=COLUMN,COLUMN,...", field));
    columns[field.substr(0, equals)] = field.substr(equals + 1);
  }
  return columns;
}

/// What each input reads: as the model's own notes say, or the column of its name; the user's word comes first.
std::vector<data::ColumnRequest> inputs_of(const ModelEventsOptions& options, const graph::Graph& model,
                                           const nlohmann::json& notes) {
  std::vector<data::ColumnRequest> columns;
  if (notes.is_object() && notes.contains("inputs")) columns = trained::columns_from_json(notes["inputs"]);
  std::map<std::string, std::string> fields = renamed(options);
  std::vector<std::string> names;
  columns.resize(model.inputs.size());
  for (size_t i = 0; i < columns.size(); ++i) {
    const graph::Node& input = model.nodes[static_cast<size_t>(model.inputs[i])];
    names.push_back(input.name);
    columns[i].shape = trained::column_shape(input);
    if (columns[i].column.empty() && columns[i].joined.empty()) columns[i].column = input.name;
    if (const auto field = fields.extract(input.name); !field.empty()) rename(columns[i], field.mapped());
  }
  if (!fields.empty()) {
    throw user_error(fmt::format("[model] --input {}: the model has no such input{}", fields.begin()->first,
                                 those_there(fields.begin()->first, names)));
  }
  trained::set_padding(model, columns);
  return columns;
}

/// The sizes that a model leaves open, for which linac has not trained it: those of these events.
std::vector<graph::Shape> sizes_of_events(const ModelEventsOptions& options, const graph::Graph& model) {
  const std::vector<graph::Shape> given(model.inputs.size());
  trained::InputSizes sizes = trained::input_sizes(model, given, options.data, inputs_of(options, model, nullptr));
  for (const std::string& words : sizes.words) log::info("[model] input " + words);
  return std::move(sizes.shapes);
}

/// What the training read for that output, or the column that the user names, in the units of the files.
data::ColumnRequest truth_of(const ModelEventsOptions& options, const WantedTruth& wanted, size_t number,
                             const nlohmann::json& notes, const data::Transform& transform) {
  std::vector<data::ColumnRequest> targets;
  if (notes.is_object() && notes.contains("targets")) targets = trained::columns_from_json(notes["targets"]);
  const bool known = number < targets.size() && !targets[number].describe().empty();  // else it has no target
  if (!known && wanted.column.empty()) {
    throw user_error(fmt::format(
        "[evaluate] the model does not say what its output '{}' was trained on: give --targets COLUMN", wanted.name));
  }
  if (!known || (!wanted.column.empty() && !options.validation_split))
    return truth_column(wanted, options.data, transform);
  data::ColumnRequest truth = targets[number];
  truth.offset.clear();  // the model tells the units of the files
  truth.factor.clear();
  if (!wanted.column.empty()) rename(truth, wanted.column);
  if (!truth.texts || !truth.joined.empty()) truth.texts = texts_of(wanted, truth);  // of numbers
  return truth;
}

/// As the training says it, but for what the user does.
trained::OutputTask task_of(const ModelEventsOptions& options, trained::OutputTask task, const std::string& output) {
  if (options.task) task = {.task = *options.task, .logits = task.logits};
  if (options.logits && task.task == scores::Task::kRegression) {
    if (task.assumed.empty()) {
      throw user_error(
          fmt::format("[evaluate] --logits is for classes and labels, and '{}' is a regression; --task "
                      "classes or --task labels says otherwise",
                      output));
    }
    task = {.assumed = fmt::format("'{}' is taken for classes, as it gives logits; --task says another", output)};
  }
  task.logits = (task.logits || options.logits) && task.task != scores::Task::kRegression;
  return task;
}

size_t output_of(const std::string& wanted, const std::vector<std::string>& names) {
  if (wanted.empty()) return 0;
  const auto found = std::find(names.begin(), names.end(), wanted);
  if (found != names.end()) return static_cast<size_t>(found - names.begin());
  throw user_error(
      fmt::format("[evaluate] --field {}: the model has no such output{}", wanted, those_there(wanted, names)));
}

/// `place`: of the model, where it was named.
void need_validation_split(const std::filesystem::path& place, const nlohmann::json& notes) {
  if (notes.is_object() && notes.contains("validation_split")) return;
  throw user_error(
      fmt::format("[model] {}: was not trained with data.validation_split or data.split; name the events: --data FILES",
                  place.string()));
}

/// The files of its validation split.
std::vector<std::string> urls_of_training(const std::filesystem::path& place, const nlohmann::json& notes) {
  const std::filesystem::path folder = trained::started_in(job::split_choice(place.string()).run);
  std::vector<std::string> urls;
  for (const nlohmann::json& file : notes["validation_split"].at("files"))
    urls.push_back(job::path_from(folder, file.at("url")));
  return urls;
}

/// The events that tested a model during its training.
std::shared_ptr<const data::EventTable> validation_events(const std::filesystem::path& place,
                                                          const nlohmann::json& notes,
                                                          const std::vector<data::ColumnRequest>& columns,
                                                          data::Transform transform) {
  const data::Transform training = trained::transform_in(notes);
  transform.filter = training.filter;
  transform.split = training.split;
  if (transform.split) transform.split->part = data::Part::kValidation;
  const nlohmann::json& split = notes["validation_split"];
  const std::vector<std::string> urls = urls_of_training(place, notes);
  if (training.split && !training.split->tests()) transform.split->part = data::Part::kTrain;
  const auto all = data::EventTable::open(urls, columns, transform);
  for (size_t i = 0; i < urls.size(); ++i) {
    const data::TableFile& file = all->files().at(i);
    if (file.fingerprint == split["files"][i].at("fingerprint")) continue;
    throw data_error(
        fmt::format("[model] {}: is not the file of the training any more, so the events that tested are not known; "
                    "name others: --data FILES",
                    file.url));
  }
  if (training.split && training.split->tests()) return all;
  return all->part(split.at("train_events"), split.at("test_events"));
}

/// What the model's training made of its events: what belongs to its inputs, and the selection where it is asked for.
data::Transform transform_of(const ModelEventsOptions& options, const nlohmann::json& notes) {
  data::Transform transform = trained::transform_in(notes);
  if (options.filter && transform.filter.empty()) {
    throw user_error(fmt::format("[model] {}: was not trained with data.filter; leave --filter out", options.model));
  }
  if (!options.filter) transform.filter.clear();
  if (options.part.empty()) {
    transform.split.reset();
    return transform;
  }
  if (!transform.split) {
    throw user_error(fmt::format("[model] {}: was not trained with data.split; leave --part out", options.model));
  }
  const auto part = data::part_named(options.part);
  if (!part) throw user_error(fmt::format("[model] --part {}: wanted is train, validation or test", options.part));
  transform.split->part = *part;
  return transform;
}

}  // namespace

/// Of a model that linac has not trained the inputs are read from columns of their names.
std::shared_ptr<const data::EventTable> named_events(const ModelEventsOptions& options, const nlohmann::json& notes,
                                                     const std::vector<data::ColumnRequest>& columns,
                                                     const data::Transform& transform, const std::string& assumed) {
  try {
    return data::EventTable::open(options.data, columns, transform);
  } catch (const Error& error) {
    const bool knows = notes.is_object() && notes.contains("inputs");
    if (notes.is_object() && notes.contains("latent")) {
      throw user_error(fmt::format("[model] {}: a generator of showers, which `linac generate --model {}` makes ({})",
                                   options.model, shell_word(options.model), error.what()));
    }
    if (knows || error.code() != ErrorCode::kData) throw;
    throw data_error(
        fmt::format("{}; linac has not trained this model, so each input is read from the column of its name: --input "
                    "INPUT=COLUMN names another{}",
                    error.what(), assumed.empty() ? "" : ". " + assumed));
  }
}

ModelEvents::ModelEvents(const ModelEventsOptions& options, Truth truth) : options_(options) {
  file_ = named_model(options.model);
  trained::TrainedModel model =
      trained::load_trained(file_, [&](const graph::Graph& graph) { return sizes_of_events(options, graph); });
  trained::ChosenModel chosen = trained::chosen_model(file_);
  state_ = std::move(chosen.words);
  file_ = std::filesystem::is_directory(chosen.path) ? trained::model_of_run(chosen.path).value() : chosen.path;
  network_ = std::move(model.network);
  for (const int output : model.graph.outputs) masked_.push_back(graph::has_mask(model.graph, output));
  if (options.validation_split) need_validation_split(options.model, model.notes);
  data::Transform transform = transform_of(options, model.notes);
  WantedTruth wanted;
  std::vector<data::ColumnRequest> columns = inputs_of(options, model.graph, model.notes);
  inputs_ = columns;
  if (truth == Truth::kWanted) {
    output_ = output_of(options.output, outputs());
    const graph::Node& output = network_->outputs()[output_];
    task_ = task_of(options, trained::output_tasks(model)[output_], output.name);
    wanted = {.column = options.target,
              .output = output.output,
              .task = task_.task,
              .name = output.name,
              .classes = options.classes};
    if (wanted.classes.empty()) wanted.classes = trained::classes_in(model.notes, output_, wanted.count());
    columns.push_back(truth_of(options, wanted, output_, model.notes, transform));
    target_ = columns.back().describe();
    weight_ = options.weight;
    if (weight_.empty() && model.notes.is_object()) weight_ = model.notes.value("event_weight", std::string());
    if (weight_ == "none") weight_.clear();
    if (!weight_.empty()) trained::define_weight(weight_, transform);
    if (!weight_.empty())
      columns.push_back(trained::weight_request(
          weight_, {output.output},
          options.validation_split ? urls_of_training(options.model, model.notes) : options.data, transform));
  }
  notes_ = std::move(model.notes);
  data_ = options.validation_split ? "the validation split" : fmt::format("{}", fmt::join(options.data, ", "));
  if (!options.part.empty()) data_ += fmt::format(", the part '{}' of the training's split", options.part);
  if (options.filter) data_ += fmt::format(", {}", transform.filter);
  table_ = options.validation_split ? validation_events(options.model, notes_, columns, transform)
                                    : named_events(options, notes_, columns, transform, task_.assumed);
  const size_t place = network_->inputs().size();  // of the truth
  if (truth == Truth::kWanted && columns[place].texts && columns[place].texts->names.empty() &&
      !table_->classes(place).empty()) {
    throw user_error(
        fmt::format("[evaluate] column '{}' holds texts, and the model does not say which output is which: name the "
                    "classes in the order of its outputs, --classes A,B,...",
                    target_));
  }
  trained::need_input_values(*table_, model.graph);
  if (truth == Truth::kWanted) need_class_numbers(*table_, place, wanted);
  data::warn_of_cuts(*table_);
}

std::vector<std::string> ModelEvents::outputs() const {
  std::vector<std::string> names;
  for (const graph::Node& output : network_->outputs()) names.push_back(output.name);
  return names;
}

std::optional<data::SplitRule> ModelEvents::split() const {
  return trained::transform_in(notes_).split;
}

std::vector<std::string> ModelEvents::classes(size_t i) const {
  const int64_t values = width_of(network_->outputs().at(i).output);
  return trained::classes_in(notes_, i, static_cast<size_t>(std::max<int64_t>(2, values)));
}

bool ModelEvents::tells_steps(size_t i) const {
  const graph::Shape& output = network_->outputs().at(i).output;
  const auto as_long = [&](const data::ColumnRequest& input) {
    return input.shape.size() == 2 && input.shape[0] == output[0];
  };
  return output.size() == 2 && (masked_.at(i) || std::ranges::any_of(inputs_, as_long));
}

std::vector<std::vector<uint8_t>> ModelEvents::steps_of(const data::TableBatch& batch,
                                                        const std::vector<std::vector<uint8_t>>& masks) const {
  std::vector<StepsOfInput> inputs;
  for (size_t i = 0; i < inputs_.size(); ++i)
    inputs.push_back({batch.columns[i], inputs_[i].shape, inputs_[i].padding});
  std::vector<std::vector<uint8_t>> steps(masks.size());
  for (size_t i = 0; i < steps.size(); ++i) {
    const graph::Shape& output = network_->outputs()[i].output;
    if (has_truth() ? output.size() > 1 && i == output_ : tells_steps(i))
      steps[i] = real_steps(output, batch.events, masks[i], inputs);
  }
  return steps;
}

std::vector<int64_t> ModelEvents::not_finite(const std::vector<std::vector<float>>& outputs, int64_t events) const {
  std::vector<int64_t> found;
  for (int64_t event = 0; event < events; ++event) {
    const auto is_broken = [&](const std::vector<float>& values) {
      const size_t size = values.size() / static_cast<size_t>(events);
      const auto scores = std::span(values).subspan(static_cast<size_t>(event) * size, size);
      return !std::ranges::all_of(scores, [](float score) { return std::isfinite(score); });
    };
    if (has_truth() ? is_broken(outputs[output_]) : std::ranges::any_of(outputs, is_broken)) found.push_back(event);
  }
  return found;
}

// The event, by its place in a batch, is computed once more, layer by layer.
std::string ModelEvents::first_not_finite(int64_t event, int64_t of_batch, const data::TableBatch& batch) const {
  std::vector<std::vector<float>> inputs;
  for (size_t i = 0; i < network_->inputs().size(); ++i) {
    const auto size = static_cast<int64_t>(batch.columns[i].size()) / batch.events;
    const auto begin = batch.columns[i].begin() + of_batch * size;
    inputs.emplace_back(begin, begin + size);
  }
  std::string words = data::describe_event(files(), event);
  if (const auto found = network_->find_not_finite(inputs, 1))
    words += fmt::format(", in {}: {}", found->layer, models::reason_of(*found));
  return words;
}

ModelEvents::NotFinite ModelEvents::run(const Sink& sink) const {
  NotFinite found;
  const int threads = options_.threads > 0 ? options_.threads : usable_cores();
  const int64_t batch = options_.batch;
  const size_t inputs = network_->inputs().size();
  ThreadPool pool(threads, [] { models::use_threads(1); });
  Progress progress("predicting", events());
  std::vector<data::TableBatch> read(static_cast<size_t>(threads));
  std::vector<std::vector<std::vector<float>>> results(static_cast<size_t>(threads));
  std::vector<std::vector<std::vector<uint8_t>>> steps(static_cast<size_t>(threads));
  for (int64_t first = 0; first < events(); first += threads * batch) {
    if (stop_signal() != 0) throw Error(ErrorCode::kPreempted, "[model] stopped by a signal");
    const int64_t batches = std::min<int64_t>(threads, (events() - first + batch - 1) / batch);
    pool.run(static_cast<int>(batches), [&](int i) {
      const int64_t begin = first + i * batch;
      std::vector<int64_t> wanted(static_cast<size_t>(std::min(batch, events() - begin)));
      std::iota(wanted.begin(), wanted.end(), begin);
      data::TableBatch& values = read[static_cast<size_t>(i)];
      table_->read(wanted, values);
      std::vector<std::vector<uint8_t>> masks;  // which tell the steps to judge
      results[static_cast<size_t>(i)] = network_->run(
          {values.columns.begin(), values.columns.begin() + static_cast<int64_t>(inputs)}, values.events, &masks);
      steps[static_cast<size_t>(i)] = steps_of(values, masks);
    });
    for (int64_t i = 0; i < batches; ++i) {
      const auto place = static_cast<size_t>(i);
      const auto& columns = read[place].columns;
      const std::vector<int64_t> broken = not_finite(results[place], read[place].events);
      if (found.events == 0 && !broken.empty())
        found.first = first_not_finite(first + i * batch + broken.front(), broken.front(), read[place]);
      found.events += static_cast<int64_t>(broken.size());
      const auto known = [&](size_t column) {
        return column < columns.size() ? std::span<const float>(columns[column]) : std::span<const float>();
      };
      sink(first + i * batch, results[place],
           {.truth = known(inputs), .weights = known(inputs + 1), .steps = steps[place]});
    }
    const int64_t done = std::min(events(), first + batches * batch);
    progress.update(done, fmt::format("{} events", done));
  }
  progress.finish("");
  return found;
}

void need_finite(const ModelEvents::NotFinite& found, int64_t events, const std::string& where,
                 const std::string& way_out) {
  if (found.events == 0) return;
  throw Error(ErrorCode::kNotFinite, fmt::format("[{}] the scores of {} of {} are NaN or Inf, first those of {}; {}",
                                                 where, found.events, plural(events, "event"), found.first, way_out));
}

}  // namespace linac::cli
