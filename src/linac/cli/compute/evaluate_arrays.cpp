#include "linac/cli/compute/evaluate_arrays.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <filesystem>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/event_arrays.h"
#include "linac/io/data/formats/hdf5_texts.h"
#include "linac/io/data/formats/text_codes.h"

namespace linac::cli {
namespace {

/// "FILE" or "FILE:DATA_SET".
struct Source {
  std::string file, data_set;
};

Source split(const std::string& text) {
  const size_t colon = text.rfind(':');
  if (colon == std::string::npos || std::filesystem::exists(text)) return {text, ""};
  return {text.substr(0, colon), text.substr(colon + 1)};
}

/// The data set's name; without one that of the file's only one.
std::string name_in(const Source& source, const std::string& option) {
  if (!source.data_set.empty()) return source.data_set;
  const std::vector<std::string> names = data::array_names(source.file);
  if (names.size() == 1) return names.front();
  throw user_error(fmt::format("[evaluate] {} has {} data sets ({}); say which one: --{} {}:NAME", source.file,
                               names.size(), fmt::join(names, ", "), option, source.file));
}

Array read(const Source& source, const std::string& option) {
  const std::string name = name_in(source, option);
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

/// The truth: numbers, or texts that name classes, as their places among `classes`.
Array read_truth(const Source& source, const std::vector<std::string>& classes) {
  constexpr int64_t kBlockEvents = 4096;
  const std::string name = name_in(source, "targets");
  const std::vector<std::string> of_texts = data::text_names(source.file);
  if (std::find(of_texts.begin(), of_texts.end(), name) == of_texts.end()) return read({source.file, name}, "targets");
  if (classes.empty()) {
    throw user_error(
        fmt::format("[evaluate] {}: '{}' holds texts: name the classes in the order of the predictions, --classes "
                    "A,B,...",
                    source.file, name));
  }
  const data::EventTexts texts(source.file, name);
  Array truth{.values = {}, .width = 1, .name = fmt::format("{}:{}", source.file, name)};
  for (int64_t first = 0; first < texts.events(); first += kBlockEvents) {
    for (const std::string& text : texts.read(first, std::min(kBlockEvents, texts.events() - first))) {
      const auto found = std::find(classes.begin(), classes.end(), text);
      if (found == classes.end()) {
        throw data_error(
            fmt::format("[evaluate] {}: event {}: '{}' holds {}, and the classes are {}; name all of them "
                        "with --classes",
                        source.file, truth.values.size(), name, data::shown_text(text), fmt::join(classes, ", ")));
      }
      truth.values.push_back(static_cast<float>(found - classes.begin()));
    }
  }
  return truth;
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
  if (output.output.size() > 1) {
    throw user_error(fmt::format("[evaluate] output '{}' is of shape {}; wanted are one number or one list{}",
                                 output.name, graph::to_string(output.output),
                                 outputs.size() > 1 ? "; choose another one with --field" : ""));
  }
  const auto width = static_cast<size_t>(graph::elements(output.output));
  const std::string& data = model.data();
  Arrays arrays{.targets = {.values = {}, .width = 1, .name = fmt::format("{}:{}", data, model.target())},
                .weights = {.values = {}, .width = 1, .name = fmt::format("{}:{}", data, model.weight())},
                .models = {{.values = {}, .width = width, .name = of_model.model}},
                .names = options.names,
                .classes = model.classes(chosen),
                .remarks = {}};
  if (!model.state().empty()) arrays.remarks.push_back(fmt::format("{}: {}", of_model.model, model.state()));
  if (outputs.size() > 1) {
    arrays.models[0].name += ":" + output.name;
    if (options.field.empty()) {
      arrays.remarks.push_back(fmt::format("of the outputs {} this is {}; --field names another",
                                           fmt::join(model.outputs(), ", "), output.name));
    }
  }
  const auto not_finite =
      model.run([&](int64_t, const std::vector<std::vector<float>>& values, const ModelEvents::Known& known) {
        const auto append = [](std::vector<float>& all, const auto& more) {
          all.insert(all.end(), more.begin(), more.end());
        };
        append(arrays.models[0].values, values[chosen]);
        append(arrays.targets.values, known.truth);
        append(arrays.weights.values, known.weights);
      });
  need_finite(not_finite, model.events(), "evaluate", "nothing is judged");
  arrays.targets.width = arrays.targets.values.size() / static_cast<size_t>(model.events());
  return arrays;
}

/// As `linac predict` notes them beside its scores; one score is the second of two classes.
std::vector<std::string> noted_classes(const Source& source, size_t width) {
  const std::vector<std::string> noted = data::array_texts(source.file, name_in(source, "predictions"), "classes");
  return noted.size() == std::max<size_t>(2, width) ? noted : std::vector<std::string>{};
}

void need_finite_scores(const Array& scores) {
  ModelEvents::NotFinite found;
  const auto events = static_cast<int64_t>(scores.values.size() / scores.width);
  for (int64_t event = 0; event < events; ++event) {
    const auto of_event = scores.table().values.subspan(static_cast<size_t>(event) * scores.width, scores.width);
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
  const Array predicted = read(first, "predictions");
  need_finite_scores(predicted);
  const std::vector<std::string> classes =
      options.model.classes.empty() ? noted_classes(first, predicted.width) : options.model.classes;
  Arrays arrays{.targets = read_truth(split(options.targets), classes),
                .weights = {},
                .models = {predicted},
                .names = options.names,
                .classes = classes,
                .remarks = {}};
  if (!options.weights.empty() && options.weights != "none") arrays.weights = read(split(options.weights), "weights");
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
    arrays.models.push_back(read(second, "compare"));
    need_finite_scores(arrays.models.back());
  }
  if (arrays.names.empty())
    for (const std::string& file : files) arrays.names.push_back(std::filesystem::path(file).stem().string());
  if (arrays.names.size() != arrays.models.size()) {
    throw user_error(fmt::format("[evaluate] --names has {} names, but there are {} sets of predictions",
                                 arrays.names.size(), arrays.models.size()));
  }
  return arrays;
}

}  // namespace linac::cli
