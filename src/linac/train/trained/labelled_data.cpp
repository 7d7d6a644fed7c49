#include "linac/train/trained/labelled_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/base/job/target_values.h"
#include "linac/io/data/column_scaling.h"
#include "linac/model/graph/input_rules.h"
#include "linac/model/graph/open_sizes.h"
#include "linac/train/trained/job_transform.h"
#include "linac/train/trained/open_inputs.h"
#include "linac/train/trained/stored_form.h"

namespace linac::trained {
namespace {

std::vector<std::string> names_of(const graph::Graph& model, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(model.nodes[static_cast<size_t>(node)].name);
  return names;
}

// Each column's constants, one behind the other: they say how many values each has.
void scale_joined(const job::Job& job, const std::string& scaling, data::ColumnRequest& wanted) {
  for (data::JoinedColumn& part : wanted.joined) {
    const data::ColumnScaling constants = data::read_scaling(job.data.scaling, part.column, scaling, 0);
    part.size = static_cast<int64_t>(constants.offset.size());
    wanted.offset.insert(wanted.offset.end(), constants.offset.begin(), constants.offset.end());
    wanted.factor.insert(wanted.factor.end(), constants.factor.begin(), constants.factor.end());
  }
}

data::ColumnRequest request(const job::Job& job, const job::DataColumn& setting, const graph::Shape& shape) {
  data::ColumnRequest wanted = request_of(setting.columns, shape);
  if (setting.columns.empty()) wanted.column = setting.column;
  if (setting.scaling == "none") return wanted;
  if (!wanted.joined.empty()) {
    scale_joined(job, setting.scaling, wanted);
    return wanted;
  }
  const size_t features = shape.empty() ? 1 : static_cast<size_t>(shape.back());
  data::ColumnScaling constants = data::read_scaling(job.data.scaling, wanted.column, setting.scaling, features);
  wanted.offset = std::move(constants.offset);
  wanted.factor = std::move(constants.factor);
  return wanted;
}

std::string describe(const job::DataColumn& setting) {
  if (!setting.name.empty()) return setting.name;
  return setting.columns.empty() ? setting.column : fmt::format("{}", fmt::join(setting.columns, ", "));
}

// The settings in the model's order; what is not named is filled in by `fallback`.
std::vector<job::DataColumn> in_order(const std::vector<job::DataColumn>& settings,
                                      const std::vector<std::string>& names, const std::string& key) {
  std::vector<job::DataColumn> ordered(names.size());
  std::vector<bool> named(names.size());
  size_t next = 0;
  for (const job::DataColumn& setting : settings) {
    size_t place = next;
    if (!setting.name.empty())
      place = static_cast<size_t>(std::find(names.begin(), names.end(), setting.name) - names.begin());
    if (place >= names.size()) {
      throw user_error(
          fmt::format("[job] {}: the model has no '{}' ({})", key, describe(setting),
                      names.empty() ? "its losses ask for none" : fmt::format("it has {}", fmt::join(names, ", "))));
    }
    if (named[place])
      throw user_error(fmt::format("[job] {} says twice what '{}' reads; leave one of them out", key, names[place]));
    named[place] = true;
    ordered[place] = setting;
    next = place + 1;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    job::DataColumn& setting = ordered[i];
    if (setting.column.empty() && setting.columns.empty())
      setting.column = setting.name.empty() ? names[i] : setting.name;
  }
  return ordered;
}

// As many as the output tells apart, each once: numbers in a file are named by them as texts are.
void need_classes(const data::TextClasses& classes) {
  const std::vector<std::string>& names = classes.names;
  if (names.empty()) return;
  if (static_cast<int64_t>(names.size()) != classes.count) {
    throw user_error(fmt::format("[job] {} named for output '{}' ({}), which tells {} apart; name as many",
                                 names.size() == 1 ? "1 class is" : fmt::format("{} classes are", names.size()),
                                 classes.output, fmt::join(names, ", "), classes.count));
  }
  for (auto name = names.begin(); name != names.end(); ++name) {
    if (std::find(names.begin(), name, *name) != name)
      throw user_error(fmt::format("[job] the class '{}' of output '{}' is named twice", *name, classes.output));
  }
}

}  // namespace

data::ColumnRequest request_of(const std::vector<std::string>& columns, const graph::Shape& shape) {
  data::ColumnRequest wanted{.column = "", .shape = shape, .offset = {}, .factor = {}};
  if (columns.size() == 1) wanted.column = columns.front();
  if (columns.size() > 1)
    for (const std::string& column : columns) wanted.joined.push_back({.column = column});
  return wanted;
}

std::vector<data::ColumnRequest> input_columns(const job::Job& job, const graph::Graph& model) {
  std::vector<data::ColumnRequest> requests;
  const auto settings = in_order(job.data.inputs, names_of(model, model.inputs), "data.inputs");
  for (size_t i = 0; i < settings.size(); ++i) {
    requests.push_back(request(job, settings[i], column_shape(model.nodes[static_cast<size_t>(model.inputs[i])])));
  }
  set_padding(model, requests);
  return requests;
}

void set_padding(const graph::Graph& model, std::vector<data::ColumnRequest>& inputs) {
  const std::vector<graph::InputRule> rules = graph::input_rules(model);
  for (size_t i = 0; i < rules.size(); ++i)
    if (rules[i].hidden && inputs[i].shape.size() == 2) inputs[i].padding = rules[i].hidden->value;
}

std::vector<graph::Shape> given_shapes(const job::Job& job, const graph::Graph& model) {
  std::vector<graph::Shape> shapes;
  for (const job::DataColumn& setting : in_order(job.data.inputs, names_of(model, model.inputs), "data.inputs"))
    shapes.push_back(setting.shape);
  return shapes;
}

std::vector<data::ColumnRequest> target_columns(const job::Job& job, const graph::Graph& model,
                                                const Targets& targets) {
  std::vector<data::ColumnRequest> requests;
  std::vector<int> outputs;
  if (!targets.empty() && job.data.targets.empty()) throw user_error(fmt::format("[job] {}", job::kNoTargets));
  for (const auto& target : targets) outputs.push_back(model.outputs[target.output]);
  const auto settings = in_order(job.data.targets, names_of(model, outputs), "data.targets");
  const auto open = graph::has_open_sizes(model) ? graph::following_axes(model) : std::vector<std::vector<bool>>{};
  for (size_t i = 0; i < settings.size(); ++i) {
    graph::Shape shape = targets[i].shape;
    // A class of each step: a list that is padded like its sequence.
    if (shape.size() == 1 && !open.empty() && open[static_cast<size_t>(outputs[i])].at(0)) shape.push_back(1);
    requests.push_back(request(job, settings[i], shape));
  }
  return requests;
}

std::vector<bool> scaled_targets(const job::Job& job, const graph::Graph& model) {
  const std::vector<std::string> names = names_of(model, model.outputs);
  std::vector<bool> scaled(names.size());
  size_t place = 0;
  for (const job::DataColumn& setting : job.data.targets) {
    if (!setting.name.empty()) place = static_cast<size_t>(std::ranges::find(names, setting.name) - names.begin());
    if (place < scaled.size()) scaled[place++] = setting.scaling != "none";
  }
  return scaled;
}

std::vector<data::ColumnRequest> fit_columns(const job::Job& job, const graph::Graph& model, const Targets& targets) {
  auto columns = input_columns(job, model);
  for (data::ColumnRequest& target : target_columns(job, model, targets)) columns.push_back(std::move(target));
  if (job.data.event_weight.empty()) return columns;
  std::vector<graph::Shape> outputs;
  for (const auto& target : targets)
    outputs.push_back(model.nodes[static_cast<size_t>(model.outputs[target.output])].output);
  columns.push_back(weight_request(job.data.event_weight, outputs, job.data.train, transform_of(job, {})));
  return columns;
}

data::ColumnRequest weight_request(const std::string& setting, const std::vector<graph::Shape>& outputs,
                                   const std::vector<std::string>& urls, const data::Transform& transform) {
  data::ColumnRequest weight{.column = weight_column(setting), .shape = {}, .offset = {}, .factor = {}};
  const auto of_steps = [&](const graph::Shape& output) {
    return output.size() > 1 && output.front() == outputs.front().front();
  };
  if (outputs.empty() || !std::ranges::all_of(outputs, of_steps)) return weight;
  if (has_fewer_axes(weight.column, 1, urls, transform)) return weight;
  weight.shape = {outputs.front().front(), 1};  // a list that is padded like its sequence
  return weight;
}

std::optional<data::TextClasses> text_classes(const job::Job& job, size_t number, const graph::Node& output,
                                              const std::string& loss, const data::ColumnRequest& target) {
  const bool of_classes =
      loss.starts_with("categorical_") || loss.starts_with("sparse_categorical_") || loss.starts_with("binary_");
  const bool plain = target.joined.empty() && target.offset.empty() && target.factor.empty();
  const int64_t outputs = graph::elements(output.output), values = target.event_values();
  const bool one_place = output.output.size() <= 1 && target.shape.size() <= 1 && (values == 1 || values == outputs);
  if (!of_classes || !plain || !one_place) return std::nullopt;
  data::TextClasses classes{.count = std::max<int64_t>(2, outputs), .output = output.name};
  const job::DataColumn* setting = nullptr;
  for (const job::DataColumn& one : job.data.targets)
    if ((one.name.empty() || one.name == output.name) && (one.column.empty() || one.column == target.column))
      setting = &one;
  if (setting != nullptr) classes.names = setting->classes;
  if (classes.names.empty() && number == 0) classes.names = job.data.classes;
  need_classes(classes);
  return classes;
}

std::vector<std::string> classes_in(const nlohmann::json& notes, size_t output, size_t wanted) {
  if (!notes.is_object()) return {};
  std::vector<std::string> names = notes.value("classes", std::vector<std::string>{});
  if (notes.contains("targets")) {
    const auto targets = columns_from_json(notes["targets"]);
    const bool of_first =
        std::any_of(targets.begin(), targets.end(), [](const auto& target) { return !!target.texts; });
    if (of_first && output > 0) names.clear();
    if (output < targets.size() && targets[output].texts) names = targets[output].texts->names;
  }
  return names.size() == wanted ? names : std::vector<std::string>();
}

int64_t events_before_split(int64_t events, double share) {
  const auto train = static_cast<int64_t>(std::floor(static_cast<double>(events) * (1 - share)));
  if (train > 0 && train < events) return train;
  throw data_error(fmt::format("[data] data.validation_split = {} of {} leaves {} to {}; {}, or give data.test files",
                               share, plural(events, "event"), train > 0 ? "none" : "no event",
                               train > 0 ? "test" : "train on", train > 0 ? "raise it" : "lower it"));
}

models::LabelledEvents slice(const models::Supervised& model, const data::TableBatch& batch, int64_t first,
                             int64_t events) {
  models::LabelledEvents part{.events = events, .inputs = {}, .targets = {}, .weights = {}};
  const size_t inputs = model.graph().inputs.size(), labelled = inputs + model.targets().size();
  for (size_t i = 0; i < batch.columns.size(); ++i) {
    const std::vector<float>& values = batch.columns[i];
    const size_t size = values.size() / static_cast<size_t>(batch.events);
    const auto wanted =
        std::span(values).subspan(static_cast<size_t>(first) * size, static_cast<size_t>(events) * size);
    if (i < labelled)
      (i < inputs ? part.inputs : part.targets).push_back(wanted);
    else
      part.weights = wanted;
  }
  return part;
}

nlohmann::json to_json(const std::vector<data::ColumnRequest>& columns) {
  nlohmann::json list = nlohmann::json::array();
  for (const data::ColumnRequest& column : columns) {
    nlohmann::json entry{
        {"column", column.column}, {"shape", column.shape}, {"offset", column.offset}, {"factor", column.factor}};
    if (column.padding != 0) entry["padding"] = column.padding;
    for (const data::JoinedColumn& part : column.joined)
      entry["joined"].push_back({{"column", part.column}, {"size", part.size}});
    if (column.texts) entry["classes"] = {{"output", column.texts->output}, {"names", column.texts->names}};
    list.push_back(std::move(entry));
  }
  return list;
}

std::vector<data::ColumnRequest> columns_from_json(const nlohmann::json& json) {
  std::vector<data::ColumnRequest> columns;
  for (const auto& entry : json) {
    columns.push_back({.column = entry.at("column"),
                       .shape = entry.at("shape").get<std::vector<int64_t>>(),
                       .offset = entry.at("offset").get<std::vector<float>>(),
                       .factor = entry.at("factor").get<std::vector<float>>()});
    columns.back().padding = entry.value("padding", 0.0F);
    for (const auto& part : entry.value("joined", nlohmann::json::array()))
      columns.back().joined.push_back({.column = part.at("column"), .size = part.at("size")});
    if (const auto classes = entry.find("classes"); classes != entry.end()) {
      auto names = classes->at("names").get<std::vector<std::string>>();
      columns.back().texts = data::TextClasses{
          .count = static_cast<int64_t>(names.size()), .output = classes->at("output"), .names = std::move(names)};
    }
  }
  return columns;
}

}  // namespace linac::trained
