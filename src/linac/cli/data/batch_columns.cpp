#include "linac/cli/data/batch_columns.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/table.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/source.h"

namespace linac::cli {
namespace {

/// Of one event; a first axis of 0: lists of several lengths.
using Shape = std::vector<int64_t>;

/// What a block of a file says of its lists; nothing without events.
std::optional<Shape> shape_in_block(const data::StoredColumn& stored, const data::RaggedColumn& block, bool one_form) {
  if (block.rows.empty()) return std::nullopt;
  if (stored.is_number || stored.axes == 0) return Shape{};
  const bool equal = std::ranges::all_of(block.rows, [&](uint32_t rows) { return rows == block.rows.front(); });
  const int64_t length = equal ? block.rows.front() : 0;
  if (stored.axes > 1) return Shape{0, std::max<int64_t>(1, block.row_size)};
  if (one_form && length == 1) return Shape{};  // a format that has numbers as lists of one
  return length > 0 ? Shape{length} : Shape{0};
}

std::optional<Shape> shape_in_file(const data::SourcePtr& source, const std::string& column) {
  const data::Format& format = data::format_of(*source);
  if (format.event_shape != nullptr) return format.event_shape(source, column);
  const auto reader = data::open_table_reader(source, {{.name = column, .shape = {}, .as_stored = true}});
  std::vector<data::RaggedColumn> block;
  reader->next(block);
  if (block.empty()) return std::nullopt;
  return shape_in_block(reader->columns().front(), block.front(), format.access == data::Access::kStream);
}

/// Of the first file with events.
Shape stored_shape(const std::string& column, const std::vector<std::string>& urls) {
  for (const std::string& url : urls)
    if (auto shape = shape_in_file(data::readable_source(storage::Source::open(url)), column)) return std::move(*shape);
  throw user_error(fmt::format("[batches] {}: no event in {}; name other files", urls.front(),
                               urls.size() == 1 ? "this file" : "this or the other files"));
}

std::set<std::string> columns_of_texts(const std::string& url) {
  const data::TableContents contents = data::contents_of_table(storage::Source::open(url));
  return {contents.of_texts.begin(), contents.of_texts.end()};
}

data::TextClasses classes_of(const std::string& column, const ColumnWords& words,
                             const std::vector<std::string>& urls) {
  std::vector<std::string> names;
  if (const auto given = words.classes.find(column); given != words.classes.end()) {
    names = given->second;
  } else if (words.window > 0) {
    throw user_error(fmt::format(
        "[batches] column '{}' holds texts, and a window reads a few files at a time: name its classes", column));
  } else {
    std::set<std::string> all;
    for (const std::string& url : urls)
      for (const data::StoredText& one : data::count_texts(storage::Source::open(url), column)) all.insert(one.text);
    names.assign(all.begin(), all.end());
  }
  return {.count = static_cast<int64_t>(names.size()), .output = column, .names = names, .always = true};
}

data::ColumnRequest joined_from(const std::string& name, const std::vector<std::string>& columns) {
  if (columns.empty()) throw user_error(fmt::format("[batches] '{}' is joined from no column; name some", name));
  data::ColumnRequest request{
      .column = {}, .shape = {static_cast<int64_t>(columns.size())}, .offset = {}, .factor = {}};
  for (const std::string& column : columns) request.joined.push_back({.column = column, .size = 1});
  return request;
}

BatchColumn as_stored(const std::string& column, const ColumnWords& words, const std::vector<std::string>& urls) {
  Shape shape = stored_shape(column, urls);
  BatchColumn made{.name = column,
                   .request = {.column = column, .shape = std::move(shape), .offset = {}, .factor = {}}};
  Shape& wanted = made.request.shape;
  if (wanted.empty() || wanted.front() != 0) return made;
  if (words.window > 0) {
    throw user_error(fmt::format(
        "[batches] column '{}' has lists of several lengths, and a window reads a few files at a time: give the shape "
        "to which they are padded, {}:ROWS{}",
        column, column, wanted.size() > 1 ? fmt::format("x{}", wanted[1]) : "x1"));
  }
  made.ragged = true;
  made.flat = wanted.size() == 1;
  int64_t row = 1;
  for (size_t axis = 1; axis < wanted.size(); ++axis) row *= wanted[axis];
  wanted = {1, row};  // until the longest is known
  made.request.padding = kListEnd;
  return made;
}

/// All rows of all events.
void take_longest(std::vector<BatchColumn>& columns, const std::vector<std::string>& urls,
                  const data::Transform& transform) {
  if (std::ranges::none_of(columns, &BatchColumn::ragged)) return;
  std::vector<data::ColumnRequest> requests;
  for (const BatchColumn& column : columns) requests.push_back(column.request);
  const auto table = data::EventTable::open(urls, requests, transform);
  for (size_t i = 0; i < columns.size(); ++i)
    if (columns[i].ragged) columns[i].request.shape[0] = std::max<int64_t>(1, table->longest(i));
}

}  // namespace

data::ColumnRequest column_of(const std::string& word, const std::string& where) {
  const size_t colon = word.rfind(':');
  data::ColumnRequest column{.column = word.substr(0, colon), .shape = {}, .offset = {}, .factor = {}};
  std::istringstream shape(colon == std::string::npos ? "" : word.substr(colon + 1));
  for (std::string extent; std::getline(shape, extent, 'x');) {
    int64_t value = 0;
    const auto [end, failure] = std::from_chars(extent.data(), extent.data() + extent.size(), value);
    if (failure != std::errc() || end != extent.data() + extent.size() || value < 1) {
      throw user_error(fmt::format(
          "[{}] --column {}: wanted is NAME, NAME:FEATURES or NAME:ROWSxFEATURES, e.g. particles:801x19", where, word));
    }
    column.shape.push_back(value);
  }
  return column;
}

std::vector<BatchColumn> batch_columns(const ColumnWords& words, const std::vector<std::string>& urls,
                                       const data::Transform& transform) {
  const std::set<std::string> texts = columns_of_texts(urls.front());
  std::vector<BatchColumn> columns;
  std::set<std::string> seen;
  for (const std::string& word : words.columns) {
    BatchColumn made{.name = {}, .request = column_of(word, "batches")};
    const std::string name = made.name = made.request.column;
    if (!seen.insert(name).second)
      throw user_error(fmt::format("[batches] --column {}: {} is named twice; say it once", word, name));
    if (const auto joined = words.joined.find(name); joined != words.joined.end())
      made.request = joined_from(name, joined->second);
    else if (texts.contains(name))
      made.request.texts = classes_of(name, words, urls);
    else if (made.request.shape.empty() && !transform.define.contains(name) && word == name)
      made = as_stored(name, words, urls);
    columns.push_back(std::move(made));
  }
  take_longest(columns, urls, transform);
  return columns;
}

}  // namespace linac::cli
