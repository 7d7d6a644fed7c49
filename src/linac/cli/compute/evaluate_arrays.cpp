#include "linac/cli/compute/evaluate_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>

#include "linac/base/base/error.h"
#include "linac/cli/compute/truth_column.h"
#include "linac/io/data/formats/event_arrays.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/storage.h"
#include "linac/physics/scores/logits.h"

namespace linac::cli {
namespace {

/// "FILE" or "FILE:DATA_SET"; FILE may be a URL.
struct Source {
  std::string file, data_set;
};

Source split(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || text.substr(colon).starts_with("://") || std::filesystem::exists(text))
    return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

/// The name that the source says; without one that of the file's only one of `names`.
std::string name_in(const Source& source, const std::vector<std::string>& names, const std::string& option) {
  if (!source.data_set.empty()) return source.data_set;
  if (names.size() == 1) return names.front();
  throw user_error(fmt::format("[evaluate] {} has {} data sets ({}); say which one: --{} {}:NAME", source.file,
                               names.size(), fmt::join(names, ", "), option, source.file));
}

std::string first_of(const std::string& pattern) {
  const std::vector<std::string> all = storage::expand_all({pattern});
  return all.empty() ? pattern : all.front();
}

/// Of the first file of a pattern.
data::TableContents contents_of(const std::string& file) {
  return data::contents_of_table(data::readable_source(storage::Source::open(first_of(file))));
}

/// A column of a file of any format.
Array read_column(const Source& source, const data::ColumnRequest& request) {
  constexpr int64_t kBlockEvents = 1 << 16;
  const auto table = data::EventTable::open({source.file}, {request});
  Array array{.values = {},
              .width = static_cast<size_t>(request.event_values()),
              .name = fmt::format("{}:{}", source.file, source.data_set)};
  std::vector<float> block;
  for (int64_t first = 0; first < table->size(); first += kBlockEvents) {
    std::vector<int64_t> events(static_cast<size_t>(std::min(kBlockEvents, table->size() - first)));
    std::iota(events.begin(), events.end(), first);
    table->read_column(0, events, block);
    array.values.insert(array.values.end(), block.begin(), block.end());
  }
  return array;
}

/// What `linac predict` writes beside the scores.
bool is_of_numbering(const std::string& column) {
  return column == "file" || column == "row";
}

/// What the source says, or the only one of the file.
std::string name_of_scores(const Source& source, const data::TableContents& contents, const std::string& option) {
  if (contents.format == "hdf5") return name_in(source, data::array_names(source.file), option);
  std::vector<std::string> names = contents.names;
  std::erase_if(names, is_of_numbering);
  return name_in(source, names, option);
}

/// Of a file of another format than HDF5: a column of numbers, or of lists of one length.
Array read_table_scores(const Source& source) {
  const auto lists =
      data::EventTable::open({source.file}, {{.column = source.data_set, .shape = {1, 1}, .offset = {}, .factor = {}}});
  return read_column(
      source,
      {.column = source.data_set, .shape = {std::max<int64_t>(1, lists->longest(0))}, .offset = {}, .factor = {}});
}

/// Of `linac predict`, or of another program.
Array read_scores(const Source& source, const std::string& option) {
  const data::TableContents contents = contents_of(source.file);
  const std::string name = name_of_scores(source, contents, option);
  if (contents.format != "hdf5") return read_table_scores({source.file, name});
  const data::EventArrays arrays(source.file, {name});
  const std::vector<int64_t> shape = arrays.shape(0);
  const int64_t events = arrays.events();
  if (shape.size() > 1 || (shape.size() == 1 && shape[0] < 1)) {
    throw data_error(
        fmt::format("[evaluate] {}: '{}' has events of shape ({}); wanted are one number or one list. Of sequences "
                    "--model knows which steps are there",
                    source.file, name, fmt::join(shape, ", ")));
  }
  return {.values = arrays.read(0, 0, events),
          .width = shape.empty() ? 1 : static_cast<size_t>(shape[0]),
          .name = fmt::format("{}:{}", source.file, name)};
}

/// The truth: numbers, or texts that name classes.
Array read_truth(Source source, size_t width, scores::Task task, const std::vector<std::string>& classes) {
  const data::TableContents contents = contents_of(source.file);
  source.data_set = name_in(source, contents.names, "targets");
  if (classes.empty() && std::ranges::find(contents.of_texts, source.data_set) != contents.of_texts.end()) {
    throw user_error(
        fmt::format("[evaluate] {}: '{}' holds texts: name the classes in the order of the predictions, --classes "
                    "A,B,...",
                    source.file, source.data_set));
  }
  const size_t values = task == scores::Task::kClasses ? std::max<size_t>(2, width) : width;
  const WantedTruth wanted{.column = source.data_set,
                           .output = {static_cast<int64_t>(values)},
                           .task = task,
                           .name = "predictions",
                           .classes = classes};
  return read_column(source, truth_column(wanted, {source.file}, {}));
}

/// Adds the rows of a block's events that count.
class Rows {
 public:
  Rows(Arrays& arrays, size_t places) : arrays_(arrays), places_(places) {}

  void add(int64_t first, const std::vector<float>& values, const ModelEvents::Known& known) {
    const size_t width = arrays_.models[0].width, rows = values.size() / width, truths = known.truth.size() / rows;
    arrays_.targets.width = truths;
    for (size_t row = 0; row < rows; ++row) {
      if (!known.steps.empty() && known.steps[row] == 0) continue;
      append(arrays_.models[0].values, std::span(values).subspan(row * width, width));
      append(arrays_.targets.values, known.truth.subspan(row * truths, truths));
      // Of the event or of its step, which has a place or more.
      if (!known.weights.empty())
        append(arrays_.weights.values, known.weights.subspan(row * known.weights.size() / rows, 1));
      if (!known.steps.empty())
        arrays_.event_of_row.push_back(static_cast<uint32_t>(static_cast<size_t>(first) + row / places_));
    }
  }

 private:
  static void append(std::vector<float>& all, std::span<const float> more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  Arrays& arrays_;
  size_t places_;
};

void remark_steps(const ModelEvents& model, size_t places, Arrays& arrays) {
  if (arrays.event_of_row.empty()) return;
  const size_t all = static_cast<size_t>(model.events()) * places, there = arrays.event_of_row.size();
  arrays.remarks.push_back(fmt::format("each step counts: {} of {} events, without {} that are masked or fill up lists",
                                       there, model.events(), all - there));
}

/// One output of a model for labelled events, and their truth.
Arrays compute_arrays(const ArraySources& options) {
  ModelEventsOptions of_model = options.model;
  of_model.output = options.field;
  of_model.target = options.targets;
  of_model.weight = options.weights;
  const ModelEvents model(of_model, Truth::kWanted);
  const std::vector<graph::Node>& outputs = model.network().outputs();
  const size_t chosen = model.output();
  const graph::Node& output = outputs[chosen];
  const auto width = static_cast<size_t>(width_of(output.output)),
             places = static_cast<size_t>(places_of(output.output));
  const std::string& data = model.data();
  Arrays arrays{.task = model.task().task,
                .targets = {.values = {}, .width = 1, .name = fmt::format("{}:{}", data, model.target())},
                .weights = {.values = {}, .width = 1, .name = fmt::format("{}:{}", data, model.weight())},
                .models = {{.values = {}, .width = width, .name = of_model.model}},
                .event_of_row = {},
                .names = options.names,
                .classes = model.classes(chosen),
                .remarks = {},
                .target = model.target(),
                .split = model.split()};
  if (!model.state().empty()) arrays.remarks.push_back(fmt::format("{}: {}", of_model.model, model.state()));
  if (!model.task().assumed.empty()) arrays.remarks.push_back(model.task().assumed);
  if (outputs.size() > 1) {
    arrays.models[0].name += ":" + output.name;
    if (options.field.empty()) {
      arrays.remarks.push_back(fmt::format("of the outputs {} this is {}; --field names another",
                                           fmt::join(model.outputs(), ", "), output.name));
    }
  }
  Rows rows(arrays, places);
  const auto not_finite = model.run([&](int64_t first, const std::vector<std::vector<float>>& values,
                                        const ModelEvents::Known& known) { rows.add(first, values[chosen], known); });
  need_finite(not_finite, model.events(), "evaluate", "nothing is judged");
  remark_steps(model, places, arrays);
  if (model.task().logits) scores::to_probabilities(arrays.models[0].values, width, arrays.task);
  return arrays;
}

/// As `linac predict` notes them beside its scores; one score is the second of two classes.
std::vector<std::string> noted_classes(const Source& source, size_t width) {
  const std::string file = first_of(source.file), name = name_of_scores(source, contents_of(file), "predictions");
  const std::vector<std::string> noted = data::array_texts(file, name, "classes");
  return noted.size() == std::max<size_t>(2, width) ? noted : std::vector<std::string>{};
}

void need_finite_scores(const Array& scores) {
  ModelEvents::NotFinite found;
  const auto events = static_cast<int64_t>(scores.values.size() / scores.width);
  for (int64_t event = 0; event < events; ++event) {
    const auto of_event = std::span(scores.values).subspan(static_cast<size_t>(event) * scores.width, scores.width);
    if (std::ranges::all_of(of_event, [](float score) { return std::isfinite(score); })) continue;
    if (found.events++ == 0) found.first = fmt::format("{}: event {}", scores.name, event);
  }
  need_finite(found, events, "evaluate", "nothing is judged");
}

Arrays read_predictions(const ArraySources& options) {
  Source first = split(options.predictions);
  if (!options.field.empty() && !first.data_set.empty() && first.data_set != options.field) {
    throw user_error(fmt::format("[evaluate] --predictions names the data set '{}' and --field '{}'; leave one out",
                                 first.data_set, options.field));
  }
  if (!options.field.empty()) first.data_set = options.field;
  const Array predicted = read_scores(first, "predictions");
  need_finite_scores(predicted);
  const scores::Task task = options.model.task.value_or(scores::Task::kClasses);
  const std::vector<std::string> noted = noted_classes(first, predicted.width);
  const std::vector<std::string>& classes = options.model.classes.empty() ? noted : options.model.classes;
  Arrays arrays{.task = task,
                .targets = read_truth(split(options.targets), predicted.width, task, classes),
                .weights = {},
                .models = {predicted},
                .event_of_row = {},
                .names = options.names,
                .classes = noted,
                .remarks = {},
                .target = {}};
  if (!options.weights.empty() && options.weights != "none") {
    Source weights = split(options.weights);
    if (weights.data_set.empty()) weights.data_set = name_in(weights, contents_of(weights.file).names, "weights");
    arrays.weights = read_column(weights, {.column = weights.data_set, .shape = {}, .offset = {}, .factor = {}});
  }
  if (options.model.logits) scores::to_probabilities(arrays.models[0].values, predicted.width, task);
  return arrays;
}

}  // namespace

Arrays read_arrays(const ArraySources& options) {
  if (options.model.model.empty() == options.predictions.empty())
    throw user_error("[evaluate] give either --predictions FILE, or --model FILE and --data FILES");
  if (options.model.model.empty() && options.model.validation_split)
    throw user_error("[evaluate] --validation-split goes with --model, whose training says which events they are");
  const bool selects = options.model.filter || !options.model.part.empty();
  if (selects && options.model.data.empty())
    throw user_error("[evaluate] --part and --filter select events of --model's --data");
  if (options.model.model.empty() && (!options.model.data.empty() || !options.model.fields.empty()))
    throw user_error("[evaluate] --data and --input go with --model; the truth of --predictions is --targets");
  if (!options.model.model.empty() && options.model.data.empty() != options.model.validation_split) {
    throw user_error(fmt::format("[evaluate] --model wants the labelled events: {}--data FILES, or --validation-split",
                                 options.model.data.empty() ? "" : "one of "));
  }
  if (options.model.model.empty() && options.targets.empty())
    throw user_error("[evaluate] --predictions wants the truth: --targets FILE:DATA_SET");
  Arrays arrays = options.model.model.empty() ? read_predictions(options) : compute_arrays(options);
  std::vector<std::string> files{options.model.model.empty() ? split(options.predictions).file : options.model.model};
  if (!options.compare.empty()) {
    const Source second = split(options.compare);
    files.push_back(second.file);
    arrays.models.push_back(read_scores(second, "compare"));
    need_finite_scores(arrays.models.back());
    Array& other = arrays.models.back();
    if (options.model.logits) scores::to_probabilities(other.values, other.width, arrays.task);
    if (!arrays.event_of_row.empty())
      throw user_error(
          "[evaluate] --compare has a row an event, and each step of the model's output is one; leave it out");
  }
  if (arrays.names.empty())
    for (const std::string& file : files) arrays.names.push_back(std::filesystem::path(file).stem().string());
  if (arrays.names.size() == 2 && arrays.names[0] == arrays.names[1] && options.names.empty()) arrays.names = files;
  if (arrays.names.size() != arrays.models.size()) {
    throw user_error(fmt::format("[evaluate] --names has {} names, but there are {} sets of predictions",
                                 arrays.names.size(), arrays.models.size()));
  }
  return arrays;
}

}  // namespace linac::cli
