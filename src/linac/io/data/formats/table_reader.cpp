#include "linac/io/data/formats/table_reader.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/plural.h"

namespace linac::data {
namespace {

int64_t product(std::span<const int64_t> axes) {
  return std::accumulate(axes.begin(), axes.end(), int64_t{1}, std::multiplies<>());
}

std::vector<int64_t> without_ones(std::span<const int64_t> axes) {
  std::vector<int64_t> out;
  std::copy_if(axes.begin(), axes.end(), std::back_inserter(out), [](int64_t axis) { return axis != 1; });
  return out;
}

std::span<const int64_t> row_axes(const WantedColumn& wanted) {
  return std::span(wanted.shape).subspan(wanted.shape.empty() ? 0 : 1);
}

}  // namespace

uint64_t rest_beyond_float32(int64_t value) {
  constexpr float kEnd = 9223372036854775808.0F;  // 2^63
  const auto rounded = static_cast<float>(value);
  const uint64_t whole = rounded == kEnd ? uint64_t{1} << 63 : static_cast<uint64_t>(static_cast<int64_t>(rounded));
  return static_cast<uint64_t>(value) - whole;
}

uint64_t rest_beyond_float32(uint64_t value) {
  constexpr float kEnd = 18446744073709551616.0F;  // 2^64
  const auto rounded = static_cast<float>(value);
  return value - (rounded == kEnd ? 0 : static_cast<uint64_t>(rounded));
}

uint64_t rest_beyond_float32(double value) {
  const auto rounded = static_cast<float>(value);
  if (std::isnan(value) || static_cast<double>(rounded) == value) return 0;
  if (std::isinf(rounded)) return std::bit_cast<uint64_t>(value);
  // Exact: both have the same exponent, or nearly so.
  const double rest = value - static_cast<double>(rounded);
  return value == std::floor(value) && std::abs(rest) < 0x1p62 ? static_cast<uint64_t>(static_cast<int64_t>(rest))
                                                               : std::bit_cast<uint64_t>(rest);
}

int64_t WantedColumn::row_size() const {
  return product(row_axes(*this));
}

bool WantedColumn::is_number() const {
  return product(shape) == 1;
}

std::string WantedColumn::describe() const {
  if (joined) return "a number or a list";
  if (as_stored || any_form) return "a number, a list or a list of rows";
  return is_number() ? "one number" : fmt::format("[{}]", fmt::join(shape, ", "));
}

std::unique_ptr<TableReader> open_table_reader(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  return format_of(*source).open(source, columns);
}

void refuse_column(const std::string& name, const WantedColumn& wanted, const std::string& stored, int64_t event) {
  const std::string place = event < 0 ? "" : fmt::format("event {}: ", event);
  const char* const way_out = event >= 0
                                  ? "give the column the shape that its events have ([ROWS, VALUES] where they are "
                                    "lists of rows), or mend the events that differ"
                              : wanted.joined ? "it cannot be joined to others: give it an input of its own"
                                              : "set the column's shape";
  throw data_error(fmt::format("[data] {}: {}column '{}' is stored as {}, wanted is {} an event; {}", name, place,
                               wanted.name, stored, wanted.describe(), way_out));
}

TableContents contents_of_table(const SourcePtr& source) {
  const Format& format = format_of(*source);
  TableContents contents = format.contents(source);
  contents.format = format.name;
  return contents;
}

std::vector<StoredText> count_texts(const SourcePtr& source, const std::string& column) {
  const auto reader = open_table_reader(source, {{.name = column, .shape = {}, .texts = true}});
  if (!reader->columns()[0].is_text) return {};
  std::vector<RaggedColumn> block;
  for (reader->next(block); !block[0].rows.empty(); reader->next(block)) continue;
  std::vector<StoredText> texts = reader->texts(0);
  std::ranges::sort(texts, {}, &StoredText::text);
  return texts;
}

void refuse_missing(const std::string& name, const std::string& column, const std::vector<std::string>& found,
                    const char* where) {
  constexpr size_t kNamesShown = 60;
  const auto near = nearest(column, found);
  const size_t shown = std::min(found.size(), kNamesShown);
  const std::vector<std::string> names(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(shown));
  throw data_error(fmt::format("[{}] {}: no column '{}' (found: {}{}); {}", where, name, column, fmt::join(names, ", "),
                               found.size() > shown ? fmt::format(" and {} others", found.size() - shown) : "",
                               near ? fmt::format("did you mean '{}'?", *near) : "name one of these"));
}

void refuse_texts(const std::string& name, const std::string& column, const std::string& stored) {
  throw data_error(
      fmt::format("[data] {}: column '{}' is {}, not numbers; texts are read where they name the classes "
                  "of a target, under a categorical, sparse categorical or binary cross-entropy",
                  name, column, stored));
}

void refuse_integer(const std::string& name, const std::string& column, int64_t event) {
  throw data_error(
      fmt::format("[data] {}: event {}: column '{}' holds an integer of 2^53 or more, which float64 rounds; formulas "
                  "and keys of a split take smaller ones: write its parts as columns of their own",
                  name, event, column));
}

std::string list_of(int64_t values) {
  return "a list of " + plural(values, "value");
}

uint32_t rows_of_list(const std::string& name, const WantedColumn& wanted, uint64_t values, int64_t event) {
  const auto row = static_cast<uint64_t>(wanted.row_size());
  if (values % row != 0 || values / row > std::numeric_limits<uint32_t>::max())
    refuse_column(name, wanted, list_of(static_cast<int64_t>(values)), event);
  return static_cast<uint32_t>(values / row);
}

bool rows_fit(const WantedColumn& wanted, std::span<const int64_t> stored) {
  const std::vector<int64_t> axes = without_ones(stored);
  if (axes.size() <= 1) return product(axes) == wanted.row_size();
  return axes == without_ones(row_axes(wanted));
}

}  // namespace linac::data
