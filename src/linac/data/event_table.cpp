#include "linac/data/event_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/error.h"
#include "linac/base/log.h"
#include "linac/base/plural.h"
#include "linac/data/packed_table.h"
#include "linac/data/table_reader.h"
#include "linac/storage/storage.h"

namespace linac::data {
namespace {

constexpr int64_t kEventValuesMax = int64_t{1} << 31;
// The offsets of a row are repeated up to this many values, so that one loop without a remainder runs over several
// rows.
constexpr size_t kScalingPeriod = 512;

/// How the values of a column are filled in.
struct Fill {
  size_t event_values = 1;            // of an event, with its padding
  size_t row_size = 1;                // values
  std::vector<float> offset, factor;  // a whole number of last axes; empty without scaling
};

void need(bool holds, const ColumnRequest& request, const std::string& what) {
  if (!holds) throw user_error(fmt::format("[data] column '{}': {}", request.describe(), what));
}

void check(const ColumnRequest& request) {
  need(request.column.empty() != request.joined.empty(), request,
       "a column needs a name, or the names of those joined");
  for (const JoinedColumn& part : request.joined) need(!part.column.empty(), request, "a column needs a name");
  need(request.joined.empty() || request.shape.size() <= 1, request,
       fmt::format("several columns are joined to one list, and wanted is [{}] an event; name one column that has it",
                   fmt::join(request.shape, ", ")));
  int64_t values = 1;
  for (const int64_t axis : request.shape) {
    need(axis >= 1 && axis <= kEventValuesMax / values, request,
         fmt::format("the shape [{}] cannot be", fmt::join(request.shape, ", ")));
    values *= axis;
  }
  const int64_t last = request.shape.empty() ? 1 : request.shape.back();
  for (const std::vector<float>* scaling : {&request.offset, &request.factor}) {
    need(scaling->empty() || static_cast<int64_t>(scaling->size()) == last, request,
         fmt::format("{} constants of scaling for a last axis of {}", scaling->size(), last));
    for (const float value : *scaling) need(std::isfinite(value), request, "a constant of scaling is not finite");
  }
}

/// What the files are asked for: one column, or each of those joined.
std::vector<WantedColumn> parts_of(const ColumnRequest& request) {
  if (request.joined.empty()) return {{request.column, request.shape}};
  std::vector<WantedColumn> parts;
  for (const JoinedColumn& part : request.joined) parts.push_back({.name = part.column, .shape = {}, .joined = true});
  return parts;
}

Fill fill_of(const ColumnRequest& request) {
  Fill fill;
  fill.row_size = static_cast<size_t>(parts_of(request).front().row_size());
  for (const int64_t axis : request.shape) fill.event_values *= static_cast<size_t>(axis);
  if (request.offset.empty() && request.factor.empty()) return fill;
  const size_t last = request.shape.empty() ? 1 : static_cast<size_t>(request.shape.back());
  const size_t period = std::max<size_t>(1, kScalingPeriod / last) * last;
  for (size_t i = 0; i < period; ++i) {
    fill.offset.push_back(request.offset.empty() ? 0 : request.offset[i % last]);
    fill.factor.push_back(request.factor.empty() ? 1 : request.factor[i % last]);
  }
  return fill;
}

void copy_scaled(const Fill& fill, const float* from, size_t count, float* to) {
  if (fill.offset.empty()) {
    std::copy_n(from, count, to);
    return;
  }
  const float* const offset = fill.offset.data();
  const float* const factor = fill.factor.data();
  for (size_t first = 0; first < count; first += fill.offset.size()) {
    const size_t length = std::min(fill.offset.size(), count - first);
    for (size_t i = 0; i < length; ++i) to[first + i] = (from[first + i] - offset[i]) * factor[i];
  }
}

/// Numbers are numbers in every event; a list of features or an image has its length. Only lists of rows are padded and
/// cut: a number that is missing or too many in a list of features would move the others to where they do not belong.
void check_length(const PackedTable& table, const WantedColumn& column, size_t place) {
  const StoredColumn& stored = table.columns()[place];
  if (stored.is_number && !column.is_number()) {
    throw data_error(fmt::format(
        "[data] {}: column '{}' is stored as {}, wanted is {} an event; join columns to that many values, columns: "
        "[{}, ...], or set the column's shape",
        table.file().url, column.name, stored.words, column.describe(), column.name));
  }
  if (zero_rows_pad(column)) return;
  const auto wanted = static_cast<uint32_t>(column.is_number() ? 1 : column.shape[0]);
  for (int64_t event = 0; event < table.events(); ++event) {
    const uint32_t rows = table.rows(event)[place];
    if (rows != wanted) refuse_column(table.file().url, column, list_of(rows * column.row_size()), event);
  }
}

/// The columns that are joined have their sizes in every event of every file; 0 in `sizes`: as in the first event.
void check_joined(const PackedTable& table, const ColumnRequest& request, size_t first, std::vector<int64_t>& sizes) {
  if (table.events() == 0) return;
  int64_t all = 0;
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (sizes[i] == 0) sizes[i] = table.rows(0)[first + i];
    for (int64_t event = 0; event < table.events(); ++event) {
      const int64_t stored = table.rows(event)[first + i];
      if (stored == sizes[i]) continue;
      throw data_error(
          fmt::format("[data] {}: event {}: column '{}' is stored as {}, and {} {}; a column that is joined to others "
                      "has one size in all events: mend the file, or give the column an input of its own",
                      table.file().url, event, request.joined[i].column, list_of(stored),
                      request.joined[i].size > 0 ? "its scaling is of" : "the events before have", sizes[i]));
    }
    all += sizes[i];
  }
  const int64_t wanted = request.shape.empty() ? 1 : request.shape[0];
  if (all == wanted) return;
  throw data_error(fmt::format("[data] {}: the columns {} have {} an event, wanted are {}; name as many in columns",
                               table.file().url, request.describe(), plural(all, "value"), wanted));
}

}  // namespace

std::string ColumnRequest::describe() const {
  std::vector<std::string> names;
  for (const JoinedColumn& part : joined) names.push_back(part.column);
  return joined.empty() ? column : fmt::format("{}", fmt::join(names, ", "));
}

struct EventTable::Parts {
  std::vector<ColumnRequest> requests;
  std::vector<Fill> fills;
  std::vector<WantedColumn> wanted;         // by the files: those of the first request, of the second, ...
  std::vector<size_t> firsts;               // where those of each request begin, and the end
  std::vector<std::vector<int64_t>> sizes;  // of each request's joined columns, in values
  std::vector<TableFile> files;
  std::vector<std::shared_ptr<const PackedTable>> tables;
  std::vector<int64_t> ends;  // the first event after each file
  std::vector<int64_t> cut;

  explicit Parts(const std::vector<ColumnRequest>& columns) : requests(columns), cut(columns.size(), 0) {
    firsts.push_back(0);
    for (const ColumnRequest& request : requests) {
      check(request);
      for (WantedColumn& part : parts_of(request)) wanted.push_back(std::move(part));
      firsts.push_back(wanted.size());
      fills.push_back(fill_of(request));
      sizes.emplace_back();
      for (const JoinedColumn& part : request.joined) sizes.back().push_back(part.size);
    }
  }

  void add(const std::shared_ptr<const PackedTable>& table) {
    for (size_t i = 0; i < requests.size(); ++i) {
      if (requests[i].joined.empty())
        check_length(*table, wanted[firsts[i]], firsts[i]);
      else
        check_joined(*table, requests[i], firsts[i], sizes[i]);
      if (!zero_rows_pad(wanted[firsts[i]])) continue;
      for (int64_t event = 0; event < table->events(); ++event)
        cut[i] += table->rows(event)[firsts[i]] > requests[i].shape[0] ? 1 : 0;
    }
    files.push_back(table->file());
    ends.push_back((ends.empty() ? 0 : ends.back()) + table->events());
    tables.push_back(table);
  }

  /// What the file's column `place` has of an event, without what pads.
  std::span<const float> stored(const PackedTable& table, int64_t event, size_t place) const {
    size_t first = 0;
    for (size_t k = 0; k < place; ++k) first += values_of(table, event, k);
    return table.values(event).subspan(first, values_of(table, event, place));
  }

  size_t values_of(const PackedTable& table, int64_t event, size_t place) const {
    return table.rows(event)[place] * static_cast<size_t>(wanted[place].row_size());
  }

  /// One event into the given slot of each column. `zeroed`: the column is all 0 before.
  void read(const PackedTable& table, int64_t event, size_t slot, const std::vector<bool>& zeroed,
            TableBatch& out) const {
    std::span<const float> values = table.values(event);
    const std::span<const uint32_t> rows = table.rows(event);
    for (size_t i = 0; i < fills.size(); ++i) {
      const Fill& fill = fills[i];
      // Columns that are joined lie one behind the other.
      const size_t stored =
          fill.row_size * std::accumulate(rows.begin() + static_cast<int64_t>(firsts[i]),
                                          rows.begin() + static_cast<int64_t>(firsts[i + 1]), size_t{0});
      LINAC_CHECK(stored <= values.size());
      const size_t count = std::min(stored, fill.event_values);
      float* const to = out.columns[i].data() + slot * fill.event_values;
      copy_scaled(fill, values.data(), count, to);
      if (!zeroed[i]) std::fill(to + count, to + fill.event_values, 0.0F);
      values = values.subspan(stored);
    }
  }
};

EventTable::EventTable(std::unique_ptr<const Parts> parts) : parts_(std::move(parts)) {}

EventTable::~EventTable() = default;

std::shared_ptr<const EventTable> EventTable::open(const std::vector<std::string>& urls,
                                                   const std::vector<ColumnRequest>& columns) {
  if (columns.empty()) throw user_error("[data] no column is named; name what the model takes");
  auto parts = std::make_unique<Parts>(columns);
  for (const std::string& url : storage::expand_all(urls)) {
    parts->add(PackedTable::open(storage::fetch(url), url, parts->wanted));
  }
  if (parts->ends.back() == 0) {
    throw user_error(fmt::format("[data] {}: no event in {}; name other files", parts->files.front().url,
                                 parts->files.size() == 1 ? "this file" : "this or the other files"));
  }
  return std::shared_ptr<const EventTable>(new EventTable(std::move(parts)));
}

int64_t EventTable::size() const {
  return parts_->ends.back();
}

const std::vector<TableFile>& EventTable::files() const {
  return parts_->files;
}

const std::vector<ColumnRequest>& EventTable::columns() const {
  return parts_->requests;
}

int64_t EventTable::events_cut(size_t i) const {
  return parts_->cut.at(i);
}

int64_t EventTable::longest(size_t i) const {
  uint32_t rows = 0;
  for (const auto& table : parts_->tables)
    for (int64_t event = 0; event < table->events(); ++event)
      rows = std::max(rows, table->rows(event)[parts_->firsts.at(i)]);
  return rows;
}

ColumnFacts EventTable::facts(size_t i) const {
  ColumnFacts facts;
  for (const auto& table : parts_->tables)
    for (size_t place = parts_->firsts.at(i); place < parts_->firsts.at(i + 1); ++place) facts.add(table->facts(place));
  return facts;
}

void EventTable::need(size_t i, const ValueRange& range, const std::string& wanted_by) const {
  const auto need_in = [&](const PackedTable& table, size_t place) {
    if (has_all(range, table.facts(place))) return;
    for (int64_t event = 0; event < table.events(); ++event) {
      const std::span<const float> values = parts_->stored(table, event, place);
      const auto bad = std::find_if_not(values.begin(), values.end(), [&](float value) { return range.has(value); });
      if (bad == values.end()) continue;
      throw data_error(
          fmt::format("[data] {}: event {}: column '{}' holds {}, and {} takes {}; mend the file, or name "
                      "another column",
                      table.file().url, event, parts_->wanted[place].name, *bad, wanted_by, range.describe()));
    }
  };
  for (const auto& table : parts_->tables)
    for (size_t place = parts_->firsts[i]; place < parts_->firsts[i + 1]; ++place) need_in(*table, place);
}

void EventTable::read(std::span<const int64_t> events, TableBatch& out) const {
  const Parts& parts = *parts_;
  out.events = static_cast<int64_t>(events.size());
  out.columns.resize(parts.fills.size());
  std::vector<bool> zeroed;
  for (size_t i = 0; i < parts.fills.size(); ++i) {
    zeroed.push_back(out.columns[i].empty());
    out.columns[i].resize(events.size() * parts.fills[i].event_values);
  }
  std::vector<bool> checked(parts.tables.size(), false);
  for (size_t slot = 0; slot < events.size(); ++slot) {
    const int64_t event = events[slot];
    LINAC_CHECK(event >= 0 && event < size());
    const auto file =
        static_cast<size_t>(std::upper_bound(parts.ends.begin(), parts.ends.end(), event) - parts.ends.begin());
    const PackedTable& table = *parts.tables[file];
    if (!checked[file]) table.check_unchanged();
    checked[file] = true;
    parts.read(table, event - (parts.ends[file] - table.events()), slot, zeroed, out);
  }
}

void warn_of_cuts(const EventTable& table) {
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const ColumnRequest& request = table.columns()[i];
    if (table.events_cut(i) == 0) continue;
    log::warn(fmt::format("[data] {}{}: {} of {} events have more than {} rows in column '{}' and lose the last ones",
                          table.files().front().url, table.files().size() > 1 ? " and others" : "", table.events_cut(i),
                          table.size(), request.shape[0], request.column));
  }
}

}  // namespace linac::data
