#include "linac/trained/labelled_data.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/error.h"
#include "linac/data/column_scaling.h"
#include "linac/graph/open_sizes.h"
#include "linac/trained/open_inputs.h"

namespace linac::trained {
namespace {

std::vector<std::string> names_of(const graph::Graph& model, const std::vector<int>& nodes) {
  std::vector<std::string> names;
  for (const int node : nodes) names.push_back(model.nodes[static_cast<size_t>(node)].name);
  return names;
}

// Each column's constants, one behind the other: they say how many values each has.
void scale_joined(const spec::Job& job, const std::string& scaling, data::ColumnRequest& wanted) {
  for (data::JoinedColumn& part : wanted.joined) {
    const data::ColumnScaling constants = data::read_scaling(job.data.scaling, part.column, scaling, 0);
    part.size = static_cast<int64_t>(constants.offset.size());
    wanted.offset.insert(wanted.offset.end(), constants.offset.begin(), constants.offset.end());
    wanted.factor.insert(wanted.factor.end(), constants.factor.begin(), constants.factor.end());
  }
}

data::ColumnRequest request(const spec::Job& job, const spec::DataColumn& setting, const graph::Shape& shape) {
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

std::string describe(const spec::DataColumn& setting) {
  if (!setting.name.empty()) return setting.name;
  return setting.columns.empty() ? setting.column : fmt::format("{}", fmt::join(setting.columns, ", "));
}

// The settings in the model's order; what is not named is filled in by `fallback`.
std::vector<spec::DataColumn> in_order(const std::vector<spec::DataColumn>& settings,
                                       const std::vector<std::string>& names, const std::string& key) {
  std::vector<spec::DataColumn> ordered(names.size());
  size_t next = 0;
  for (const spec::DataColumn& setting : settings) {
    size_t place = next;
    if (!setting.name.empty())
      place = static_cast<size_t>(std::find(names.begin(), names.end(), setting.name) - names.begin());
    if (place >= names.size()) {
      throw user_error(
          fmt::format("[job] {}: the model has no '{}' (it has {})", key, describe(setting), fmt::join(names, ", ")));
    }
    ordered[place] = setting;
    next = place + 1;
  }
  for (size_t i = 0; i < names.size(); ++i) {
    spec::DataColumn& setting = ordered[i];
    if (setting.column.empty() && setting.columns.empty())
      setting.column = setting.name.empty() ? names[i] : setting.name;
  }
  return ordered;
}

}  // namespace

data::ColumnRequest request_of(const std::vector<std::string>& columns, const graph::Shape& shape) {
  data::ColumnRequest wanted{.column = "", .shape = shape, .offset = {}, .factor = {}};
  if (columns.size() == 1) wanted.column = columns.front();
  if (columns.size() > 1)
    for (const std::string& column : columns) wanted.joined.push_back({.column = column});
  return wanted;
}

std::vector<data::ColumnRequest> input_columns(const spec::Job& job, const graph::Graph& model) {
  std::vector<data::ColumnRequest> requests;
  const auto settings = in_order(job.data.inputs, names_of(model, model.inputs), "data.inputs");
  for (size_t i = 0; i < settings.size(); ++i) {
    requests.push_back(
        request(job, settings[i], column_shape(model.nodes[static_cast<size_t>(model.inputs[i])])));
  }
  return requests;
}

std::vector<graph::Shape> given_shapes(const spec::Job& job, const graph::Graph& model) {
  std::vector<graph::Shape> shapes;
  for (const spec::DataColumn& setting : in_order(job.data.inputs, names_of(model, model.inputs), "data.inputs"))
    shapes.push_back(setting.shape);
  return shapes;
}

std::vector<data::ColumnRequest> target_columns(const spec::Job& job, const graph::Graph& model,
                                                const std::vector<graph::Shape>& shapes) {
  std::vector<data::ColumnRequest> requests;
  const auto settings = in_order(job.data.targets, names_of(model, model.outputs), "data.targets");
  const auto open = graph::has_open_sizes(model) ? graph::following_axes(model) : std::vector<std::vector<bool>>{};
  for (size_t i = 0; i < settings.size(); ++i) {
    graph::Shape shape = shapes.at(i);
    // A class of each step: a list that is padded like its sequence.
    if (shape.size() == 1 && !open.empty() && open[static_cast<size_t>(model.outputs[i])].at(0)) shape.push_back(1);
    requests.push_back(request(job, settings[i], shape));
  }
  return requests;
}

std::vector<data::ColumnRequest> fit_columns(const spec::Job& job, const graph::Graph& model,
                                             const std::vector<graph::Shape>& shapes) {
  auto columns = input_columns(job, model);
  for (data::ColumnRequest& target : target_columns(job, model, shapes)) columns.push_back(std::move(target));
  if (!job.data.event_weight.empty())
    columns.push_back({.column = job.data.event_weight, .shape = {}, .offset = {}, .factor = {}});
  return columns;
}

models::LabelledEvents slice(const graph::Graph& model, const data::TableBatch& batch, int64_t first, int64_t events) {
  models::LabelledEvents part{.events = events, .inputs = {}, .targets = {}, .weights = {}};
  const size_t inputs = model.inputs.size(), labelled = inputs + model.outputs.size();
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
    for (const data::JoinedColumn& part : column.joined)
      entry["joined"].push_back({{"column", part.column}, {"size", part.size}});
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
    for (const auto& part : entry.value("joined", nlohmann::json::array()))
      columns.back().joined.push_back({.column = part.at("column"), .size = part.at("size")});
  }
  return columns;
}

}  // namespace linac::trained
