#include "linac/io/data/event_table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/cache/packed_table.h"
#include "linac/io/data/column_fill.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/formats/text_codes.h"
#include "linac/io/data/order/in_order.h"
#include "linac/io/data/text_classes.h"
#include "linac/io/storage/storage.h"

namespace linac::data {
namespace {

// A batch takes its events from anywhere in memory: so many before their turn the processor is told where they lie.
constexpr size_t kPlacesAhead = 16, kValuesAhead = 6;

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
  if (is_padded(column)) return;
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
          fmt::format("[data] {}: {}: column '{}' is stored as {}, and {} {}; a column that is joined to others "
                      "has one size in all events: mend the file, or give the column an input of its own",
                      table.file().url, describe_event(table.file(), event), request.joined[i].column, list_of(stored),
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

std::string describe_event(const TableFile& file, int64_t event) {
  return fmt::format("event {}{}", event, file.events < file.stored ? " of those selected" : "");
}

std::string describe_event(const std::vector<TableFile>& files, int64_t event) {
  auto file = files.begin();
  for (; file->events <= event; ++file) event -= file->events;
  const bool selected = !file->made.empty() && file->events < file->stored;
  return fmt::format("{}: event {}{}", file->url, file->first + event, selected ? " of those selected" : "");
}

std::string ColumnRequest::describe() const {
  std::vector<std::string> names;
  for (const JoinedColumn& part : joined) names.push_back(part.column);
  return joined.empty() ? column : fmt::format("{}", fmt::join(names, ", "));
}

int64_t ColumnRequest::event_values() const {
  int64_t values = 1;
  for (const int64_t axis : shape) values *= axis;
  return values;
}

struct EventTable::Parts {
  std::vector<ColumnRequest> requests;
  std::vector<ColumnFill> fills;
  std::vector<WantedColumn> wanted;         // by the files: those of the first request, of the second, ...
  std::vector<size_t> firsts;               // where those of each request begin, and the end
  std::vector<std::vector<int64_t>> sizes;  // of each request's joined columns, in values
  std::vector<SettledClasses> classes;      // of each request
  std::vector<std::shared_ptr<const PackedTable>> tables;
  std::vector<int64_t> ends;  // the first event after each file

  explicit Parts(const std::vector<ColumnRequest>& columns) : requests(columns) {
    firsts.push_back(0);
    for (const ColumnRequest& request : requests) {
      check_request(request);
      for (WantedColumn& part : wanted_of(request)) wanted.push_back(std::move(part));
      firsts.push_back(wanted.size());
      fills.emplace_back(request);
      sizes.emplace_back();
      for (const JoinedColumn& part : request.joined) sizes.back().push_back(part.size);
    }
  }

  void add(const std::shared_ptr<const PackedTable>& table) {
    for (size_t i = 0; i < requests.size(); ++i) {
      const StoredColumn& stored = table->columns()[firsts[i]];
      if (stored.is_text && !requests[i].texts) refuse_texts(table->file().url, requests[i].column, stored.words);
      if (stored.is_text) continue;  // one in each event
      if (requests[i].joined.empty() || requests[i].is_zipped())
        check_length(*table, wanted[firsts[i]], firsts[i]);
      else
        check_joined(*table, requests[i], firsts[i], sizes[i]);
    }
    ends.push_back((ends.empty() ? 0 : ends.back()) + table->events());
    tables.push_back(table);
  }

  void settle() {
    for (size_t i = 0; i < requests.size(); ++i) {
      classes.push_back(settle_classes(tables, firsts[i], requests[i]));
      if (classes[i].names.empty())
        requests[i].texts.reset();
      else
        requests[i].texts->names = classes[i].names;
    }
  }

  /// The place in the file's texts, of column i, which holds some.
  size_t code_of(size_t i, size_t file, int64_t event) const {
    return static_cast<size_t>(stored(*tables[file], event, firsts[i]).front());
  }

  int64_t begin(size_t file) const { return file == 0 ? 0 : ends[file - 1]; }

  /// Calls visit(file, begin, end), with the file's own numbers of events, for each file that has some of [first,
  /// last).
  template <class Visit>
  void visit_files(int64_t first, int64_t last, const Visit& visit) const {
    for (size_t file = 0; file < tables.size(); ++file) {
      const int64_t from = std::max(first, begin(file)), to = std::min(last, ends[file]);
      const bool empty = tables[file]->events() == 0;  // among them all the same
      if (from < to || (from == to && empty)) visit(file, from - begin(file), to - begin(file));
    }
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

  size_t file_of(int64_t event) const {
    return static_cast<size_t>(std::upper_bound(ends.begin(), ends.end(), event) - ends.begin());
  }

  void expect_place(int64_t event) const {
    const size_t file = file_of(event);
    tables[file]->expect_place(event - begin(file));
  }
  void expect_values(int64_t event) const {
    const size_t file = file_of(event);
    tables[file]->expect_values(event - begin(file));
  }

  /// Column i of one event, into what pads.
  void read_column(size_t i, size_t file, int64_t event, float* to) const {
    const ColumnFill& fill = fills[i];
    if (!classes[i].names.empty()) return fill.set_class(classes[i].places[file].at(code_of(i, file, event)), to);
    std::vector<float> values;
    for (size_t place = firsts[i]; place < firsts[i + 1]; ++place) {
      const std::span<const float> part = stored(*tables[file], event, place);
      values.insert(values.end(), part.begin(), part.end());
    }
    fill.copy(values.data(), std::min(values.size(), fill.event_values), to);
  }

  /// One event into the given slot of each column. `zeroed`: the column is all 0 before, which pads it.
  void read(size_t file, int64_t event, size_t slot, const std::vector<bool>& zeroed, TableBatch& out) const {
    const PackedTable& table = *tables[file];
    std::span<const float> values = table.values(event);
    const std::span<const uint32_t> rows = table.rows(event);
    for (size_t i = 0; i < fills.size(); ++i) {
      const ColumnFill& fill = fills[i];
      // Columns that are joined lie one behind the other.
      const size_t stored =
          fill.row_size * std::accumulate(rows.begin() + static_cast<int64_t>(firsts[i]),
                                          rows.begin() + static_cast<int64_t>(firsts[i + 1]), size_t{0});
      LINAC_CHECK(stored <= values.size());
      const size_t count = std::min(stored, fill.event_values);
      float* const to = out.columns[i].data() + slot * fill.event_values;
      if (!classes[i].names.empty()) {
        fill.set_class(classes[i].places[file].at(static_cast<size_t>(values.front())), to);
        values = values.subspan(stored);
        continue;
      }
      fill.copy(values.data(), count, to);
      if (!zeroed[i]) std::fill(to + count, to + fill.event_values, fill.padding);
      values = values.subspan(stored);
    }
  }
};

namespace {

/// User error where files have events and none is selected.
template <class Parts>
void need_selection(const Parts& parts, const Transform& transform) {
  int64_t stored = 0, passed = 0;
  for (const auto& table : parts.tables) {
    stored += table->file().stored;
    passed += table->file().passed;
  }
  const std::string& url = parts.tables.front()->file().url;
  if (stored > 0 && passed == 0) {
    throw user_error(fmt::format("[data] {}: data.filter = \"{}\" holds for none of {}; mend it", url, transform.filter,
                                 plural(stored, "event")));
  }
  if (passed > 0) {
    throw user_error(
        fmt::format("[data] {}: none of {} is in the part '{}' of data.split; raise its share, or check "
                    "that the values of data.split.key differ",
                    url, plural(passed, "event"), to_string(transform.split->part)));
  }
}

}  // namespace

EventTable::EventTable(std::shared_ptr<const Parts> parts, int64_t first, int64_t events)
    : parts_(std::move(parts)), first_(first), size_(events) {
  parts_->visit_files(first_, first_ + size_, [&](size_t file, int64_t begin, int64_t end) {
    files_.push_back(parts_->tables[file]->file());
    files_.back().events = end - begin;
    files_.back().first = begin;
  });
}

EventTable::~EventTable() = default;

std::shared_ptr<const EventTable> EventTable::opened(const std::vector<std::string>& files,
                                                     const std::vector<ColumnRequest>& columns,
                                                     const Transform& transform, Empty empty) {
  if (columns.empty()) throw user_error("[data] no column is named; name what the model takes");
  const auto parts = std::make_shared<Parts>(columns);
  const Transform needed = needed_of(transform, parts->wanted);
  InOrder<std::shared_ptr<const PackedTable>> tables(
      files.size(), [&](size_t i) { return PackedTable::open(files[i], parts->wanted, needed); });
  for (size_t i = 0; i < files.size(); ++i) parts->add(tables.take());
  const int64_t events = parts->ends.back();
  if (events == 0 && empty == Empty::kRefused) {
    need_selection(*parts, needed);
    throw user_error(fmt::format("[data] {}: no event in {}; name other files", parts->tables.front()->file().url,
                                 parts->tables.size() == 1 ? "this file" : "this or the other files"));
  }
  parts->settle();
  return std::shared_ptr<const EventTable>(new EventTable(parts, 0, events));
}

std::shared_ptr<const EventTable> EventTable::open(const std::vector<std::string>& urls,
                                                   const std::vector<ColumnRequest>& columns,
                                                   const Transform& transform) {
  return opened(storage::expand_all(urls), columns, transform, Empty::kRefused);
}

std::shared_ptr<const EventTable> EventTable::open_one(const std::string& url,
                                                       const std::vector<ColumnRequest>& columns,
                                                       const Transform& transform) {
  return opened({url}, columns, transform, Empty::kFine);
}

std::shared_ptr<const EventTable> EventTable::part(int64_t first, int64_t events) const {
  LINAC_CHECK(first >= 0 && events > 0 && first + events <= size_);
  return std::shared_ptr<const EventTable>(new EventTable(parts_, first_ + first, events));
}

const std::vector<ColumnRequest>& EventTable::columns() const {
  return parts_->requests;
}

int64_t EventTable::events_cut(size_t i) const {
  const size_t place = parts_->firsts.at(i);
  if (!is_padded(parts_->wanted[place])) return 0;
  int64_t cut = 0;
  parts_->visit_files(first_, first_ + size_, [&](size_t file, int64_t begin, int64_t end) {
    for (int64_t event = begin; event < end; ++event)
      cut += parts_->tables[file]->rows(event)[place] > parts_->requests[i].shape[0] ? 1 : 0;
  });
  return cut;
}

const std::vector<std::string>& EventTable::classes(size_t i) const {
  return parts_->classes.at(i).names;
}

std::vector<int64_t> EventTable::events_of_classes(size_t i) const {
  std::vector<int64_t> events(classes(i).size(), 0);
  const Parts& parts = *parts_;
  parts.visit_files(first_, first_ + size_, [&](size_t file, int64_t begin, int64_t end) {
    const std::vector<size_t>& places = parts.classes[i].places[file];
    const StoredColumn& stored = parts.tables[file]->columns()[parts.firsts[i]];
    if (end - begin == parts.tables[file]->events()) {
      for (size_t code = 0; code < places.size(); ++code) events[places[code]] += stored.texts[code].events;
      return;
    }
    for (int64_t event = begin; event < end; ++event) ++events[places.at(parts.code_of(i, file, event))];
  });
  return events;
}

void EventTable::need_known_classes(size_t i) const {
  std::vector<bool> known(classes(i).size(), false);
  parts_->visit_files(0, first_ + size_, [&](size_t file, int64_t, int64_t end) {
    const PackedTable& table = *parts_->tables[file];
    const std::vector<StoredText>& texts = table.columns()[parts_->firsts[i]].texts;
    for (size_t code = 0; code < texts.size(); ++code) {  // in the order of their first events
      const size_t place = parts_->classes[i].places[file][code];
      if (texts[code].first >= end || known[place]) continue;
      known[place] = true;
      if (parts_->begin(file) + texts[code].first < first_) continue;
      throw data_error(
          fmt::format("[data] {}: {}: column '{}' holds {}, of which the training events before it have none; the "
                      "last events test: mix the events of the files, or name all classes in data.classes",
                      table.file().url, describe_event(table.file(), texts[code].first), parts_->requests[i].column,
                      shown_text(texts[code].text)));
    }
  });
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
  parts_->visit_files(first_, first_ + size_, [&](size_t file, int64_t begin, int64_t end) {
    const PackedTable& table = *parts_->tables[file];
    for (size_t place = parts_->firsts.at(i); place < parts_->firsts.at(i + 1); ++place) {
      if (end - begin == table.events()) {
        facts.add(table.facts(place));
        continue;
      }
      for (int64_t event = begin; event < end; ++event) facts.add(parts_->stored(table, event, place));
    }
  });
  return facts;
}

void EventTable::need(size_t i, const ValueRange& range, const std::string& wanted_by) const {
  if (!classes(i).empty()) return;  // texts were compared with the classes
  parts_->visit_files(first_, first_ + size_, [&](size_t file, int64_t begin, int64_t end) {
    const PackedTable& table = *parts_->tables[file];
    for (size_t place = parts_->firsts[i]; place < parts_->firsts[i + 1]; ++place) {
      if (has_all(range, table.facts(place))) continue;
      for (int64_t event = begin; event < end; ++event) {
        const std::span<const float> values = parts_->stored(table, event, place);
        const auto bad = std::find_if_not(values.begin(), values.end(), [&](float value) { return range.has(value); });
        if (bad == values.end()) continue;
        throw data_error(
            fmt::format("[data] {}: {}: column '{}' holds {}, and {} takes {}; mend the file, or name "
                        "another column",
                        table.file().url, describe_event(table.file(), event), parts_->wanted[place].name, *bad,
                        wanted_by, range.describe()));
      }
    }
  });
}

void EventTable::read(std::span<const int64_t> events, TableBatch& out) const {
  std::vector<size_t> slots(events.size());
  std::iota(slots.begin(), slots.end(), size_t{0});
  out.events = static_cast<int64_t>(events.size());
  read_into(events, slots, out);
}

void EventTable::read_into(std::span<const int64_t> events, std::span<const size_t> slots, TableBatch& out) const {
  const Parts& parts = *parts_;
  out.columns.resize(parts.fills.size());
  std::vector<bool> zeroed;
  for (size_t i = 0; i < parts.fills.size(); ++i) {
    zeroed.push_back(out.columns[i].empty() && parts.fills[i].padding == 0);
    out.columns[i].resize(static_cast<size_t>(out.events) * parts.fills[i].event_values);
  }
  for (const int64_t event : events) LINAC_CHECK(event >= 0 && event < size_);
  std::vector<bool> checked(parts.tables.size(), false);
  for (size_t i = 0; i < events.size(); ++i) {
    if (i + kPlacesAhead < events.size()) parts.expect_place(first_ + events[i + kPlacesAhead]);
    if (i + kValuesAhead < events.size()) parts.expect_values(first_ + events[i + kValuesAhead]);
    const int64_t event = first_ + events[i];
    const size_t file = parts.file_of(event);
    const PackedTable& table = *parts.tables[file];
    if (!checked[file]) table.check_unchanged();
    checked[file] = true;
    parts.read(file, event - parts.begin(file), slots[i], zeroed, out);
  }
}

void EventTable::let_pages_go() const {
  for (const std::shared_ptr<const PackedTable>& table : parts_->tables) table->let_pages_go();
}

void EventTable::read_column(size_t i, std::span<const int64_t> events, std::vector<float>& out) const {
  const Parts& parts = *parts_;
  const size_t size = parts.fills.at(i).event_values;
  out.assign(events.size() * size, parts.fills[i].padding);
  for (size_t slot = 0; slot < events.size(); ++slot) {
    LINAC_CHECK(events[slot] >= 0 && events[slot] < size_);
    const int64_t event = first_ + events[slot];
    const size_t file = parts.file_of(event);
    parts.read_column(i, file, event - parts.begin(file), out.data() + slot * size);
  }
}

void warn_of_cuts(const EventTable& table) {
  for (size_t i = 0; i < table.columns().size(); ++i) {
    const ColumnRequest& request = table.columns()[i];
    if (table.events_cut(i) == 0) continue;
    log::warn(fmt::format("[data] {}{}: {} of {} events have more than {} rows in column '{}' and lose the last ones",
                          table.files().front().url, table.files().size() > 1 ? " and others" : "", table.events_cut(i),
                          table.size(), request.shape[0], request.describe()));
  }
}

}  // namespace linac::data
