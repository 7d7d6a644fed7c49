#include "linac/train/trained/open_inputs.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/storage/storage.h"
#include "linac/model/graph/open_sizes.h"

namespace linac::trained {
namespace {

const graph::Node& input_of(const graph::Graph& model, size_t i) {
  return model.nodes[static_cast<size_t>(model.inputs[i])];
}

bool is_open(const graph::Node& input) {
  return !graph::open_axes(input).empty();
}

/// Of one event, where the format has the same for all. The file says whether it is the same in others.
std::optional<graph::Shape> stored_shape(const std::vector<std::string>& urls, const data::ColumnRequest& column,
                                         const data::Transform& transform) {
  if (transform.define.contains(column.column)) return std::nullopt;
  const std::vector<std::string> all = storage::expand_all(urls);
  if (all.empty() || column.column.empty()) return std::nullopt;
  const auto file = storage::Source::open(all.front());
  const auto event_shape = data::format_of(*file).event_shape;
  if (event_shape == nullptr) return std::nullopt;
  graph::Shape shape = event_shape(file, column.column);
  return std::ranges::count(shape, 0) > 0 ? std::nullopt : std::optional(std::move(shape));
}

/// With the axes of the model's input, if it can be that.
std::optional<graph::Shape> fitting(const graph::Node& input, graph::Shape stored) {
  if (stored.size() + 1 == input.output.size() && input.output.back() == 1) stored.push_back(1);  // a grey image
  const std::vector<size_t> open = graph::open_axes(input);
  bool fits = stored.size() == input.output.size();
  for (size_t axis = 0; fits && axis < stored.size(); ++axis)
    fits = stored[axis] == input.output[axis] || std::find(open.begin(), open.end(), axis) != open.end();
  return fits ? std::optional(std::move(stored)) : std::nullopt;
}

graph::Shape shape_of_data(const graph::Node& input, const std::vector<std::string>& urls,
                           const data::ColumnRequest& column, const data::Transform& transform) {
  const std::optional<graph::Shape> stored = stored_shape(urls, column, transform);
  if (!stored) {
    throw user_error(fmt::format(
        "[data] input '{}' is {}, and the files do not say one size for column '{}': give it, data.inputs: [{{name: "
        "{}, shape: [...]}}]",
        input.name, graph::describe_open_shape(input), column.describe(), input.name));
  }
  if (const auto shape = fitting(input, *stored)) return *shape;
  throw data_error(fmt::format("[data] {}: column '{}' is stored as {} an event, and input '{}' is {}", urls.front(),
                               column.describe(), graph::to_string(*stored), input.name,
                               graph::describe_open_shape(input)));
}

}  // namespace

graph::Shape column_shape(const graph::Node& input) {
  graph::Shape shape = input.output;
  if (shape.size() == 1 && graph::is_open_sequence(input)) shape.push_back(1);
  return shape;
}

InputSizes input_sizes(const graph::Graph& model, const std::vector<graph::Shape>& given,
                       const std::vector<std::string>& urls, std::vector<data::ColumnRequest> columns,
                       const data::Transform& transform) {
  InputSizes sizes;
  std::vector<std::string> origins(given.size());
  bool wants_longest = false;
  for (size_t i = 0; i < given.size(); ++i) {
    const graph::Node& input = input_of(model, i);
    sizes.shapes.push_back(given[i].empty() ? input.output : given[i]);
    if (!given[i].empty()) {
      origins[i] = "as given";
    } else if (graph::is_open_sequence(input)) {
      wants_longest = true;
      origins[i] = "as long as the longest list";
    } else if (is_open(input)) {
      sizes.shapes[i] = shape_of_data(input, urls, columns.at(i), transform);
      columns[i].shape = sizes.shapes[i];
      origins[i] = "the size of the data";
    }
  }
  if (wants_longest) {
    const auto table = data::EventTable::open(urls, columns, transform);
    for (size_t i = 0; i < given.size(); ++i)
      if (given[i].empty() && graph::is_open_sequence(input_of(model, i)))
        sizes.shapes[i][0] = std::max<int64_t>(1, table->longest(i));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    const graph::Node& input = input_of(model, i);
    if (!is_open(input)) continue;
    sizes.words.push_back(fmt::format("{} {}: {}, {}", input.name, graph::describe_open_shape(input),
                                      graph::to_string(sizes.shapes[i]), origins[i]));
  }
  return sizes;
}

std::vector<graph::Shape> trained_shapes(const graph::Graph& model, const std::vector<data::ColumnRequest>& inputs) {
  std::vector<graph::Shape> shapes;
  for (size_t i = 0; i < model.inputs.size(); ++i) {
    const graph::Node& input = input_of(model, i);
    shapes.push_back(input.output);
    if (!is_open(input) || i >= inputs.size()) continue;
    graph::Shape shape = inputs[i].shape;
    shape.resize(std::min(shape.size(), input.output.size()));  // rows of one number
    if (const auto fits = fitting(input, std::move(shape))) shapes.back() = *fits;
  }
  return shapes;
}

}  // namespace linac::trained
