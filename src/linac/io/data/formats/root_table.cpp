// Trees and RNTuples of ROOT files: columns by their names, with the tree's name before where a file has several.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/root_file.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/root/table.h"

namespace linac::data {
namespace {

constexpr double kBlockBytes = 4 << 20;
constexpr int64_t kBlockEventsMax = 4096;

using Tables = std::vector<std::unique_ptr<root::Table>>;

int64_t product(const std::vector<int64_t>& axes) {
  return std::accumulate(axes.begin(), axes.end(), int64_t{1}, std::multiplies<>());
}

Tables open_tables(const SourcePtr& source) {
  Tables tables = root::tables_of(open_root_file(source));
  if (tables.empty()) {
    throw data_error(
        fmt::format("[root] {}: no tree and no RNTuple in it; name a file that holds events", source->url()));
  }
  return tables;
}

/// With the table's name, where there are several.
std::string full_name(const Tables& tables, const root::Table& table, const root::ColumnInfo& column) {
  return tables.size() == 1 ? column.name : table.name() + "/" + column.name;
}

const root::Table& largest(const Tables& tables) {
  return **std::ranges::max_element(tables, {}, [](const auto& table) { return table->events(); });
}

/// One wanted column.
class RootColumn {
 public:
  RootColumn(const std::string& name, const WantedColumn& wanted, const root::ColumnInfo& info,
             std::unique_ptr<root::ColumnReader> reader)
      : name_(name), wanted_(wanted), info_(info), reader_(std::move(reader)) {
    const int64_t values = product(info.extents);
    if (info.is_text) return;
    if (wanted.any_form) {
      rows_ = info.extents.empty() ? 1 : static_cast<uint32_t>(info.extents.front());
      return;
    }
    if (info.lists == 0 && info.extents.size() >= 2 && !rows_fit(wanted, std::span(info.extents).subspan(1)))
      refuse(-1);
    if (info.lists == 0) rows_ = rows_of_list(name, wanted, static_cast<uint64_t>(values), -1);
    if (info.lists == 1 && !info.extents.empty() && !rows_fit(wanted, info.extents)) refuse(-1);
  }

  RaggedColumn read(int64_t first, int64_t count, TextCodes& codes) {
    block_.values.clear();
    block_.outer.clear();
    block_.inner.clear();
    block_.texts.clear();
    reader_->read(first, count, block_);
    RaggedColumn out;
    if (info_.is_text) {
      for (const std::string& text : block_.texts)
        out.values.push_back(codes.code(text, first + static_cast<int64_t>(out.values.size())));
      out.rows.assign(static_cast<size_t>(count), 1);
      return out;
    }
    if (info_.lists == 0)
      out.rows.assign(static_cast<size_t>(count), rows_);
    else
      out.rows.swap(block_.outer);
    if (info_.lists == 1 && info_.extents.empty() && wanted_.row_size() != 1) {
      for (size_t i = 0; i < out.rows.size(); ++i)
        out.rows[i] = rows_of_list(name_, wanted_, out.rows[i], first + static_cast<int64_t>(i));
    }
    if (wanted_.any_form)
      out.sizes = sizes_of(out.rows);
    else if (info_.lists == 2)
      check_inner(first, out.rows);
    out.values.swap(block_.values);
    return out;
  }

 private:
  [[noreturn]] void refuse(int64_t event) const { refuse_column(name_, wanted_, info_.words(), event); }

  /// The values of each event.
  std::vector<uint32_t> sizes_of(const std::vector<uint32_t>& rows) const {
    const auto each = static_cast<uint32_t>(product(info_.extents));
    std::vector<uint32_t> sizes;
    size_t next = 0;
    for (const uint32_t count : rows) {
      const auto inner = block_.inner.begin() + static_cast<int64_t>(next);
      if (info_.lists == 2) next += count;
      sizes.push_back(info_.lists == 0   ? each
                      : info_.lists == 1 ? count * each
                                         : std::accumulate(inner, inner + count, uint32_t{0}) * each);
    }
    return sizes;
  }

  /// Each inner list is a row.
  void check_inner(int64_t first, const std::vector<uint32_t>& outer) const {
    std::vector<int64_t> axes{0};
    axes.insert(axes.end(), info_.extents.begin(), info_.extents.end());
    size_t next = 0;
    int64_t fitting = -1;  // the length that is known to fit
    for (size_t event = 0; event < outer.size(); ++event) {
      for (uint32_t row = 0; row < outer[event]; ++row) {
        axes[0] = block_.inner[next++];
        if (axes[0] == fitting) continue;
        if (fitting >= 0 || !rows_fit(wanted_, axes)) {
          refuse_column(name_, wanted_, fmt::format("lists with a row of {} values", product(axes)),
                        first + static_cast<int64_t>(event));
        }
        fitting = axes[0];
      }
    }
  }

  const std::string& name_;
  const WantedColumn& wanted_;
  const root::ColumnInfo& info_;
  std::unique_ptr<root::ColumnReader> reader_;
  root::Block block_;
  uint32_t rows_ = 1;
};

class RootTable : public TableReader {
 public:
  RootTable(const SourcePtr& source, std::vector<WantedColumn> columns)
      : name_(source->url()), columns_(std::move(columns)), tables_(open_tables(source)) {
    double event_bytes = 1;
    for (const WantedColumn& wanted : columns_) {
      codes_.emplace_back(name_, wanted.name);
      const auto [table, place] = find(wanted.name);
      const root::ColumnInfo& info = table->columns()[place];
      if (!info.refused.empty()) {
        throw data_error(
            fmt::format("[root] {}: column '{}' is not read ({}); name another one, or write it as numbers "
                        "or lists of numbers",
                        name_, wanted.name, info.refused));
      }
      if (wanted.exact) {
        throw data_error(fmt::format(
            "[root] {}: column '{}' is named in a formula or a key (data.filter, define, lists, split), and "
            "these do not read ROOT files: write it as Parquet (linac data convert)",
            name_, wanted.name));
      }
      if (info.is_text && !wanted.texts) refuse_texts(name_, wanted.name, info.words());
      need_events(wanted.name, table->events());
      stored_.push_back({.words = info.words(),
                         .is_number = info.is_text || (info.lists == 0 && info.extents.empty()),
                         .is_text = info.is_text});
      readers_.emplace_back(name_, wanted, info, table->reader(place));
      event_bytes = std::max(event_bytes, info.bytes_an_event);
    }
    if (events_ < 0) events_ = largest(tables_).events();
    block_events_ = std::clamp(static_cast<int64_t>(kBlockBytes / event_bytes), int64_t{1}, kBlockEventsMax);
  }

  int64_t events() const override { return events_; }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    const int64_t count = std::min(block_events_, events_ - next_);
    out.assign(columns_.size(), {});
    if (count == 0) return;
    for (size_t i = 0; i < out.size(); ++i) out[i] = readers_[i].read(next_, count, codes_[i]);
    next_ += count;
  }

 private:
  std::pair<const root::Table*, size_t> find(const std::string& wanted) const {
    std::vector<std::string> names;
    for (const auto& table : tables_) {
      for (size_t i = 0; i < table->columns().size(); ++i) {
        const root::ColumnInfo& info = table->columns()[i];
        if (wanted == table->name() + "/" + info.name || (tables_.size() == 1 && wanted == info.name))
          return {table.get(), i};
        names.push_back(full_name(tables_, *table, info));
      }
    }
    refuse_missing(name_, wanted, names, "root");
  }

  void need_events(const std::string& column, int64_t events) {
    if (events_ < 0) {
      events_ = events;
      first_ = column;
    }
    if (events == events_) return;
    throw data_error(fmt::format("[root] {}: '{}' holds {} but '{}' holds {}; name columns of one tree", name_, column,
                                 plural(events, "event"), first_, plural(events_, "event")));
  }

  std::string name_, first_;  // first_: the column that says how many events there are
  std::vector<WantedColumn> columns_;
  Tables tables_;
  std::vector<StoredColumn> stored_;
  std::vector<RootColumn> readers_;
  int64_t events_ = -1, block_events_ = 1, next_ = 0;
};

}  // namespace

TableContents root_contents(const SourcePtr& source) {
  const Tables tables = open_tables(source);
  TableContents contents{.format = {}, .events = largest(tables).events(), .columns = {}};
  for (const auto& table : tables) {
    const std::string of =
        table->events() == contents.events ? "" : fmt::format(" ({})", plural(table->events(), "event"));
    for (const root::ColumnInfo& column : table->columns()) {
      contents.names.push_back(full_name(tables, *table, column));
      contents.columns.push_back(contents.names.back() + " " + column.words() + of);
      if (column.is_text) contents.of_texts.push_back(full_name(tables, *table, column));
    }
  }
  return contents;
}

std::unique_ptr<TableReader> open_root_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  return std::make_unique<RootTable>(source, columns);
}

}  // namespace linac::data
