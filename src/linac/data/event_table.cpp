#include "linac/data/event_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "linac/base/error.h"
#include "linac/base/log.h"
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
  if (!holds) throw user_error(fmt::format("[data] column '{}': {}", request.column, what));
}

void check(const ColumnRequest& request) {
  need(!request.column.empty(), request, "a column needs a name");
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

Fill fill_of(const ColumnRequest& request, const WantedColumn& column) {
  Fill fill;
  fill.row_size = static_cast<size_t>(column.row_size());
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
void check_lengths(const PackedTable& table, const std::vector<WantedColumn>& columns) {
  for (size_t i = 0; i < columns.size(); ++i) {
    const WantedColumn& column = columns[i];
    const StoredColumn& stored = table.columns()[i];
    if (stored.is_number && !column.is_number()) refuse_column(table.file().url, column, stored.words);
    if (zero_rows_pad(column)) continue;
    const auto wanted = static_cast<uint32_t>(column.is_number() ? 1 : column.shape[0]);
    for (int64_t event = 0; event < table.events(); ++event) {
      const uint32_t rows = table.rows(event)[i];
      if (rows != wanted) refuse_column(table.file().url, column, list_of(rows * column.row_size()), event);
    }
  }
}

}  // namespace

struct EventTable::Parts {
  std::vector<ColumnRequest> requests;
  std::vector<Fill> fills;
  std::vector<TableFile> files;
  std::vector<std::shared_ptr<const PackedTable>> tables;
  std::vector<int64_t> ends;  // the first event after each file
  std::vector<int64_t> cut;

  void add(const std::shared_ptr<const PackedTable>& table) {
    for (size_t i = 0; i < requests.size(); ++i) {
      const int64_t rows_max = requests[i].shape.empty() ? 1 : requests[i].shape[0];
      for (int64_t event = 0; event < table->events(); ++event) cut[i] += table->rows(event)[i] > rows_max ? 1 : 0;
    }
    files.push_back(table->file());
    ends.push_back((ends.empty() ? 0 : ends.back()) + table->events());
    tables.push_back(table);
  }

  /// Column i of an event, without what pads.
  std::span<const float> stored(const PackedTable& table, int64_t event, size_t i) const {
    size_t first = 0;
    for (size_t k = 0; k < i; ++k) first += table.rows(event)[k] * fills[k].row_size;
    return table.values(event).subspan(first, table.rows(event)[i] * fills[i].row_size);
  }

  /// One event into the given slot of each column. `zeroed`: the column is all 0 before.
  void read(const PackedTable& table, int64_t event, size_t slot, const std::vector<bool>& zeroed,
            TableBatch& out) const {
    std::span<const float> values = table.values(event);
    for (size_t i = 0; i < fills.size(); ++i) {
      const Fill& fill = fills[i];
      const size_t stored = table.rows(event)[i] * fill.row_size;
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
  auto parts = std::make_unique<Parts>();
  parts->requests = columns;
  parts->cut.assign(columns.size(), 0);
  std::vector<WantedColumn> wanted;
  for (const ColumnRequest& request : columns) {
    check(request);
    wanted.push_back({request.column, request.shape});
    parts->fills.push_back(fill_of(request, wanted.back()));
  }
  for (const std::string& url : storage::expand_all(urls)) {
    const auto table = PackedTable::open(storage::fetch(url), url, wanted);
    check_lengths(*table, wanted);
    parts->add(table);
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

ColumnFacts EventTable::facts(size_t i) const {
  ColumnFacts facts;
  for (const auto& table : parts_->tables) facts.add(table->facts(i));
  return facts;
}

void EventTable::need(size_t i, const ValueRange& range, const std::string& wanted_by) const {
  for (const auto& table : parts_->tables) {
    if (has_all(range, table->facts(i))) continue;
    for (int64_t event = 0; event < table->events(); ++event) {
      const std::span<const float> values = parts_->stored(*table, event, i);
      const auto bad = std::find_if_not(values.begin(), values.end(), [&](float value) { return range.has(value); });
      if (bad == values.end()) continue;
      throw data_error(
          fmt::format("[data] {}: event {}: column '{}' holds {}, and {} takes {}; mend the file, or name "
                      "another column",
                      table->file().url, event, parts_->requests[i].column, *bad, wanted_by, range.describe()));
    }
  }
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
