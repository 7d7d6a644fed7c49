#include "linac/cli/compute/evaluate_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <numeric>
#include <span>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/cli/compute/step_scores.h"
#include "linac/cli/compute/truth_column.h"
#include "linac/io/data/formats/event_arrays.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/storage.h"
#include "linac/physics/scores/logits.h"
#include "linac/train/trained/stored_form.h"

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
  if (!source.data_set.empty()) return source.data_set;
  std::vector<std::string> names = contents.names;
  if (contents.format == "hdf5")
    names = data::array_names(source.file);
  else
    std::erase_if(names, is_of_numbering);
  return name_in(source, without_steps(first_of(source.file), names), option);
}

/// Of a file of another format than HDF5: a column of numbers, or of lists of one length.
Array read_table_scores(const Source& source) {
  const auto lists =
      data::EventTable::open({source.file}, {{.column = source.data_set, .shape = {1, 1}, .offset = {}, .factor = {}}});
  return read_column(
      source,
      {.column = source.data_set, .shape = {std::max<int64_t>(1, lists->longest(0))}, .offset = {}, .factor = {}});
}

struct Scores {
  Array array;
  std::optional<StepScores> steps = {};  // of sequences, whose values are here
};

/// Of `linac predict`, or of another program.
Scores read_scores(const Source& source, const std::string& option) {
  const data::TableContents contents = contents_of(source.file);
  const std::string name = name_of_scores(source, contents, option);
  if (auto steps = read_step_scores(first_of(source.file), name)) {
    return {.array = {.values = {},
                      .width = static_cast<size_t>(steps->width),
                      .name = fmt::format("{}:{}", source.file, name)},
            .steps = std::move(steps)};
  }
  if (contents.format != "hdf5") return {.array = read_table_scores({source.file, name})};
  const data::EventArrays arrays(source.file, {name});
  const std::vector<int64_t> shape = arrays.shape(0);
  const int64_t events = arrays.events();
  if (shape.size() > 1 || (shape.size() == 1 && shape[0] < 1)) {
    throw data_error(fmt::format(
        "[evaluate] {}: '{}' has events of shape ({}); wanted are one number or one list. Of sequences "
        "--model knows which steps are there, and a file of linac predict whose '{}' has the attribute '{}'",
        source.file, name, fmt::join(shape, ", "), name, data::kStepsAttribute));
  }
  return {.array = {.values = arrays.read(0, 0, events),
                    .width = shape.empty() ? 1 : static_cast<size_t>(shape[0]),
                    .name = fmt::format("{}:{}", source.file, name)}};
}

/// The truth of an output of that shape: numbers, or texts that name classes.
Array read_truth(Source source, const graph::Shape& output, scores::Task task,
                 const std::vector<std::string>& classes) {
  const data::TableContents contents = contents_of(source.file);
  source.data_set = name_in(source, contents.names, "targets");
  if (classes.empty() && std::ranges::find(contents.of_texts, source.data_set) != contents.of_texts.end()) {
    throw user_error(
        fmt::format("[evaluate] {}: '{}' holds texts: name the classes in the order of the predictions, --classes "
                    "A,B,...",
                    source.file, source.data_set));
  }
  const WantedTruth wanted{
      .column = source.data_set, .output = output, .task = task, .name = "predictions", .classes = classes};
  return read_column(source, truth_column(wanted, {source.file}, {}));
}

/// Adds the rows of a block's events that count.
class Rows {
 public:
  Rows(Arrays& arrays, size_t places) : arrays_(arrays), places_(places) {}

  struct Known {
    std::span<const float> truth, weights;
    std::span<const uint8_t> steps;  // 1 for each that counts; empty: all rows do
  };

  void add(int64_t first, const std::vector<float>& values, const Known& known) {
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

void remark_steps(int64_t events, size_t places, Arrays& arrays) {
  if (arrays.event_of_row.empty()) return;
  const size_t all = static_cast<size_t>(events) * places, there = arrays.event_of_row.size();
  arrays.remarks.push_back(fmt::format("each step counts: {} of {} events, without {} that are masked or fill up lists",
                                       there, events, all - there));
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
  const auto not_finite =
      model.run([&](int64_t first, const std::vector<std::vector<float>>& values, const ModelEvents::Known& known) {
        rows.add(first, values[chosen], {.truth = known.truth, .weights = known.weights, .steps = known.steps[chosen]});
      });
  need_finite(not_finite, model.events(), "evaluate", "nothing is judged");
  remark_steps(model.events(), places, arrays);
  if (model.task().logits) scores::to_probabilities(arrays.models[0].values, width, arrays.task);
  return arrays;
}

/// As `linac predict` notes them beside its scores; one score is the second of two classes.
std::vector<std::string> noted_classes(const Source& source, size_t width) {
  const std::string file = first_of(source.file), name = name_of_scores(source, contents_of(file), "predictions");
  const std::vector<std::string> noted = data::array_texts(file, name, "classes");
  return noted.size() == std::max<size_t>(2, width) ? noted : std::vector<std::string>{};
}

void need_finite_scores(const Scores& scores) {
  ModelEvents::NotFinite found;
  const std::vector<float>& values = scores.steps ? scores.steps->values : scores.array.values;
  const size_t size = scores.array.width * (scores.steps ? static_cast<size_t>(scores.steps->steps) : 1);
  const auto events = static_cast<int64_t>(values.size() / size);
  for (int64_t event = 0; event < events; ++event) {
    const auto of_event = std::span(values).subspan(static_cast<size_t>(event) * size, size);
    if (std::ranges::all_of(of_event, [](float score) { return std::isfinite(score); })) continue;
    if (found.events++ == 0) found.first = fmt::format("{}: event {}", scores.array.name, event);
  }
  need_finite(found, events, "evaluate", "nothing is judged");
}

/// Makes each step that is there a row.
void take_steps(const StepScores& scores, Arrays& arrays) {
  const auto steps = static_cast<size_t>(scores.steps);
  const auto need_events = [&](const Array& array, size_t places) {
    const size_t events = array.values.size() / (array.width * places);
    if (events == static_cast<size_t>(scores.events)) return;
    throw data_error(fmt::format("[evaluate] {} has {} events, but {} has {}", arrays.models[0].name, scores.events,
                                 array.name, events));
  };
  const Array truth = std::exchange(arrays.targets, {.values = {}, .width = 1, .name = arrays.targets.name});
  const Array weights = std::exchange(arrays.weights, {.values = {}, .width = 1, .name = arrays.weights.name});
  need_events(truth, 1);
  if (!weights.values.empty()) need_events(weights, 1);
  Rows(arrays, steps).add(0, scores.values, {.truth = truth.values, .weights = weights.values, .steps = scores.there});
  remark_steps(scores.events, steps, arrays);
}

Arrays read_predictions(const ArraySources& options) {
  Source first = split(options.predictions);
  if (!options.field.empty() && !first.data_set.empty() && first.data_set != options.field) {
    throw user_error(fmt::format("[evaluate] --predictions names the data set '{}' and --field '{}'; leave one out",
                                 first.data_set, options.field));
  }
  if (!options.field.empty()) first.data_set = options.field;
  const Scores scored = read_scores(first, "predictions");
  need_finite_scores(scored);
  const Array& predicted = scored.array;
  const scores::Task task = options.model.task.value_or(scores::Task::kClasses);
  const std::vector<std::string> noted = noted_classes(first, predicted.width);
  const std::vector<std::string>& classes = options.model.classes.empty() ? noted : options.model.classes;
  const auto width = static_cast<int64_t>(predicted.width);
  graph::Shape output{task == scores::Task::kClasses ? std::max<int64_t>(2, width) : width};
  if (scored.steps) output = {scored.steps->steps, width};
  Arrays arrays{.task = task,
                .targets = read_truth(split(options.targets), output, task, classes),
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
    const bool of_steps = scored.steps && !trained::has_fewer_axes(weights.data_set, 1, {weights.file}, {});
    arrays.weights = read_column(weights, {.column = weights.data_set,
                                           .shape = of_steps ? graph::Shape{scored.steps->steps, 1} : graph::Shape{},
                                           .offset = {},
                                           .factor = {}});
  }
  if (scored.steps) take_steps(*scored.steps, arrays);
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
    Scores other = read_scores(second, "compare");
    need_finite_scores(other);
    if (!arrays.event_of_row.empty() || other.steps)
      throw user_error(
          "[evaluate] --compare is for scores of one row an event, not of steps of sequences; leave it out");
    if (options.model.logits) scores::to_probabilities(other.array.values, other.array.width, arrays.task);
    arrays.models.push_back(std::move(other.array));
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
