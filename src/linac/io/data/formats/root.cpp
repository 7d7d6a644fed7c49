// Trees and RNTuples of ROOT files: columns by their names, with the tree's name before where a file has several.

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <mutex>
#include <numeric>
#include <optional>
#include <tuple>

#include "linac/base/base/error.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/batches/batch_table.h"
#include "linac/io/data/formats/root_file.h"
#include "linac/io/root/table.h"

namespace linac::data {
namespace {

constexpr double kBlockBytes = 4 << 20;
constexpr int64_t kBlockEventsMax = 16384;
// For training: of the widest column. What is read at once stays in a processor's cache until it is packed.
constexpr double kTrainingBytes = 256 << 10;
constexpr int64_t kTrainingEventsMax = 4096;

std::shared_ptr<arrow::DataType> type_named(const std::string& name) {
  static const std::pair<const char*, std::shared_ptr<arrow::DataType>> kTypes[] = {
      {"bool", arrow::boolean()},  {"int8", arrow::int8()},      {"uint8", arrow::uint8()},
      {"int16", arrow::int16()},   {"uint16", arrow::uint16()},  {"int32", arrow::int32()},
      {"uint32", arrow::uint32()}, {"int64", arrow::int64()},    {"uint64", arrow::uint64()},
      {"float", arrow::float32()}, {"double", arrow::float64()}, {"float16", arrow::float16()},
      {"text", arrow::utf8()}};
  for (const auto& [known, type] : kTypes)
    if (name == known) return type;
  LINAC_CHECK(!"a type of ROOT's without a form in a batch");
  return nullptr;
}

/// The tables of a file.
class RootTables {
 public:
  struct Column {
    const root::Table* table;
    size_t place;
    const root::ColumnInfo& info() const { return table->columns()[place]; }
  };

  explicit RootTables(const SourcePtr& source)
      : url_(source->url()), tables_(root::tables_of(open_root_file(source))) {}

  const std::vector<std::unique_ptr<root::Table>>& all() const { return tables_; }
  int64_t most_events() const {
    const auto most = [](const auto& one, const auto& other) { return one->events() < other->events(); };
    return (*std::ranges::max_element(tables_, most))->events();
  }
  /// With the table's name, where there are several.
  std::string full_name(const Column& column) const {
    return tables_.size() == 1 ? column.info().name : column.table->name() + "/" + column.info().name;
  }
  /// As a job names it: where one tree of the file has friends, by them; else full_name(). Data error for a damaged
  /// record.
  std::string name_in_jobs(const Column& column) const {
    const Friends& its = friends();
    if (its.tree == column.table) return column.info().name;
    for (const root::Friend& one : its.all) {
      const std::string name = one.name + "." + column.info().name;
      if (one.tree != column.table->name() || !why_not(*its.tree, one).empty()) continue;
      // Another column may have that name.
      if (const auto found = by_friends(name, "", ""); found && found->table == column.table) return name;
    }
    return full_name(column);
  }
  std::vector<Column> columns() const {
    std::vector<Column> columns;
    for (const auto& table : tables_)
      for (size_t i = 0; i < table->columns().size(); ++i) columns.push_back({table.get(), i});
    return columns;
  }
  /// Data error of `where` and `file` for one that is not there.
  Column find(const std::string& name, const std::string& file, const char* where) const {
    std::vector<std::string> found;
    for (const Column& column : columns()) {
      found.push_back(full_name(column));
      if (name == found.back() || name == column.table->name() + "/" + column.info().name) return column;
    }
    if (const auto column = by_friends(name, file, where)) return *column;
    refuse_missing(file, name, found, where);
  }

 private:
  static std::optional<Column> column_of(const root::Table& table, const std::string& name) {
    const auto found = std::ranges::find(table.columns(), name, &root::ColumnInfo::name);
    if (found == table.columns().end()) return std::nullopt;
    return Column{&table, static_cast<size_t>(found - table.columns().begin())};
  }

  struct Friends {
    const root::Table* tree = nullptr;  // that has them; none: nobody, or several trees
    std::vector<root::Friend> all;      // those of longer names before those of which they begin with the name
  };

  /// Read once.
  const Friends& friends() const {
    const std::scoped_lock lock(mutex_);
    if (friends_) return *friends_;
    Friends found;
    bool several = false;
    for (const auto& table : tables_) {
      std::vector<root::Friend> its = table->friends();
      if (its.empty()) continue;
      several = found.tree != nullptr;
      if (several) break;
      found = {table.get(), std::move(its)};
    }
    if (several) found = {};
    std::ranges::stable_sort(found.all, std::ranges::greater(), [](const auto& one) { return one.name.size(); });
    return friends_.emplace(std::move(found));
  }

  const root::Table* table_named(const std::string& name) const {
    const auto found = std::ranges::find(tables_, name, [](const auto& table) { return table->name(); });
    return found == tables_.end() ? nullptr : found->get();
  }

  /// Why its events are not those of the tree, one after the other; empty: they are.
  std::string why_not(const root::Table& tree, const root::Friend& one) const {
    const std::string& url = url_;
    if (!one.file.empty() && one.file != url.substr(url.rfind('/') + 1))
      return fmt::format("which lies in another file, {}", one.file);
    const root::Table* const table = table_named(one.tree);
    if (table == nullptr) return fmt::format("the tree '{}', which is not in this file", one.tree);
    if (const std::string index = table->index(); !index.empty())
      return fmt::format("whose events are found by an index ({}) and not by their place", index);
    if (table->events() != tree.events())
      return fmt::format("which holds {} where the tree holds {}", plural(table->events(), "event"),
                         plural(tree.events(), "event"));
    return "";
  }

  /// As ROOT names them, where one tree of the file has friends: its own columns, and "friend.column". Of friends whose
  /// names begin alike, as `a` and `a.b`, the one that has the column. Data error for a friend's that cannot be read.
  std::optional<Column> by_friends(const std::string& name, const std::string& file, const char* where) const {
    const Friends& its = friends();
    if (its.tree == nullptr) return std::nullopt;
    if (const auto own = column_of(*its.tree, name)) return own;
    std::string why, which;
    std::vector<std::string> there;
    for (const root::Friend& one : its.all) {
      if (!name.starts_with(one.name + ".")) continue;
      const std::string reason = why_not(*its.tree, one);
      if (!reason.empty()) {
        if (which.empty()) std::tie(which, why) = std::tie(one.name, reason);
        continue;
      }
      const root::Table& table = *table_named(one.tree);
      if (const auto column = column_of(table, name.substr(one.name.size() + 1))) return column;
      for (const root::ColumnInfo& info : table.columns()) there.push_back(one.name + "." + info.name);
    }
    if (!which.empty())
      throw data_error(fmt::format(
          "[{}] {}: '{}' is of the friend '{}' of the tree '{}', {}; write both into one tree (RDataFrame's Snapshot)",
          where, file, name, which, its.tree->name(), why));
    if (!there.empty()) refuse_missing(file, name, there, where);
    return std::nullopt;
  }

  const std::string url_;
  std::vector<std::unique_ptr<root::Table>> tables_;
  mutable std::mutex mutex_;
  mutable std::optional<Friends> friends_;
};

enum class Values { kAsStored, kForTraining };  // those for training are float32

class RootBatches : public BatchReader {
 public:
  RootBatches(std::shared_ptr<const RootTables> tables, Values values) : tables_(std::move(tables)), values_(values) {}

  void add(const std::string& name, const RootTables::Column& column) {
    const root::ColumnInfo& info = column.info();
    columns_.push_back({&info, column.table->reader(column.place)});
    const bool floats = values_ == Values::kForTraining && !info.is_text;
    columns_.back().type = floats ? arrow::float32() : type_named(info.type);
    auto type = fixed_type(info.extents, columns_.back().type);
    for (int i = 0; i < info.lists; ++i) type = arrow::list(type);
    fields_.push_back(arrow::field(name, type));
  }

  void leave_out(std::vector<columns::LeftOutColumn> columns) { left_out_ = std::move(columns); }

  /// All columns are there.
  void begin(int64_t events, const EventRange& range) {
    schema_ = arrow::schema(fields_);
    events_ = events;
    double most = 1, all = 1;
    for (const Column& column : columns_) {
      most = std::max(most, column.info->bytes_an_event);
      all += column.info->bytes_an_event;
    }
    if (values_ == Values::kForTraining)
      block_events_ = std::clamp(static_cast<int64_t>(kTrainingBytes / most), int64_t{1}, kTrainingEventsMax);
    else
      block_events_ = std::clamp(static_cast<int64_t>(kBlockBytes / all), int64_t{1}, kBlockEventsMax);
    next_ = range.first;
    end_ = range.end(events_);
  }

  int64_t events() const override { return events_; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    const int64_t count = std::min(block_events_, end_ - next_);
    if (count <= 0) return nullptr;
    arrow::ArrayVector arrays;
    for (const Column& column : columns_) arrays.push_back(read(column, count));
    next_ += count;
    return arrow::RecordBatch::Make(schema_, count, arrays);
  }

 private:
  struct Column {
    const root::ColumnInfo* info = nullptr;
    std::unique_ptr<root::ColumnReader> reader;
    std::shared_ptr<arrow::DataType> type = {};  // of a value
  };

  std::shared_ptr<arrow::Array> read(const Column& column, int64_t count) const {
    root::Block block;
    block.as_stored = values_ == Values::kAsStored;
    column.reader->read(next_, count, block);
    const root::ColumnInfo& info = *column.info;
    if (info.is_text) return texts_of(block.texts, true);
    auto bytes = block.as_stored ? arrow::Buffer::FromVector(std::move(block.stored))
                                 : arrow::Buffer::FromVector(std::move(block.values));
    auto array = fixed_of(info.extents, numbers_of(column.type, std::move(bytes)));
    if (info.lists == 2) array = lists_of(block.inner, array);
    return info.lists > 0 ? lists_of(block.outer, array) : array;
  }

  const std::shared_ptr<const RootTables> tables_;
  const Values values_;
  std::vector<Column> columns_;
  arrow::FieldVector fields_;
  int64_t events_ = 0, next_ = 0, end_ = 0, block_events_ = 1;
};

void need_readable(const std::string& name, const WantedColumn& wanted, const root::ColumnInfo& info) {
  if (!info.refused.empty()) {
    throw data_error(
        fmt::format("[root] {}: column '{}' is not read ({}); name another one, or write it as numbers "
                    "or lists of numbers",
                    name, wanted.name, info.refused));
  }
  if (info.is_text && !wanted.texts) refuse_texts(name, wanted.name, info.words());
}

std::shared_ptr<const RootTables> tables_with_events(const SourcePtr& source) {
  auto tables = std::make_shared<const RootTables>(source);
  if (!tables->all().empty()) return tables;
  throw data_error(
      fmt::format("[root] {}: no tree and no RNTuple in it; name a file that holds events", source->url()));
}

}  // namespace

TableContents root_contents(const SourcePtr& source) {
  const auto tables = tables_with_events(source);
  TableContents contents{.format = {}, .events = tables->most_events(), .columns = {}};
  for (const RootTables::Column& column : tables->columns()) {
    const int64_t events = column.table->events();
    const std::string of = events == contents.events ? "" : fmt::format(" ({})", plural(events, "event"));
    contents.names.push_back(tables->name_in_jobs(column));
    contents.columns.push_back(contents.names.back() + " " + column.info().words() + of);
    if (column.info().is_text) contents.of_texts.push_back(contents.names.back());
  }
  return contents;
}

std::unique_ptr<TableReader> open_root_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  const auto tables = tables_with_events(source);
  const std::string& name = source->url();
  const bool in_full = std::ranges::any_of(columns, [](const auto& one) { return one.any_form || one.exact; });
  auto batches = std::make_unique<RootBatches>(tables, in_full ? Values::kAsStored : Values::kForTraining);
  std::vector<StoredColumn> stored;
  std::optional<int64_t> events;
  for (const WantedColumn& wanted : columns) {
    const RootTables::Column column = tables->find(wanted.name, name, "root");
    const root::ColumnInfo& info = column.info();
    need_readable(name, wanted, info);
    if (!events) events = column.table->events();
    if (column.table->events() != *events)
      throw data_error(fmt::format("[root] {}: '{}' holds {} but '{}' holds {}; name columns of one tree", name,
                                   wanted.name, plural(column.table->events(), "event"), columns.front().name,
                                   plural(*events, "event")));
    if (!info.is_text) need_fit(name, wanted, info.lists, info.extents, info.words());
    stored.push_back({.words = info.words(),
                      .is_number = info.is_text || (info.lists == 0 && info.extents.empty()),
                      .is_text = info.is_text,
                      .is_boolean = info.type == "bool",
                      .axes = info.is_text ? 0 : info.lists + static_cast<int>(info.extents.size()),
                      .is_double = info.type == "double",
                      .is_float = info.type == "float" || info.type == "float16"});
    batches->add(wanted.name, column);
  }
  batches->begin(events.value_or(tables->most_events()), {});
  return table_of(std::move(batches), name, columns, std::move(stored));
}

std::unique_ptr<BatchReader> open_root_batches(const SourcePtr& source, const BatchColumns& columns,
                                               const EventRange& range, const RecordMarks* /*marks*/) {
  const auto tables = std::make_shared<const RootTables>(source);
  const std::string& name = source->url();
  std::vector<std::string> names = columns.names;
  std::vector<columns::LeftOutColumn> left_out;
  if (names.empty()) {
    if (tables->all().size() != 1)
      throw data_error(fmt::format("[root] {}: it holds {} trees or RNTuples; name columns of one (--columns)", name,
                                   tables->all().size()));
    for (const RootTables::Column& column : tables->columns()) {
      const root::ColumnInfo& info = column.info();
      if (columns.leaves_out(info.name)) continue;
      if (info.refused.empty())
        names.push_back(info.name);
      else
        left_out.push_back({info.name, info.refused});
    }
    if (names.empty())
      throw data_error(
          fmt::format("[root] {}: no column that can be read{}", name,
                      left_out.empty() ? "" : fmt::format(" ('{}': {})", left_out.front().name, left_out.front().why)));
  }
  auto batches = std::make_unique<RootBatches>(tables, Values::kAsStored);
  batches->leave_out(std::move(left_out));
  std::optional<int64_t> events;
  for (const std::string& one : names) {
    const RootTables::Column column = tables->find(one, name, "data");
    if (!column.info().refused.empty()) refuse_form(name, one, column.info().refused);
    if (!events) events = column.table->events();
    if (column.table->events() != *events)
      throw data_error(
          fmt::format("[root] {}: '{}' holds {} events and the columns before it {}; name columns of "
                      "one tree (--columns)",
                      name, one, column.table->events(), *events));
    batches->add(one, column);
  }
  batches->begin(events.value_or(0), range);
  return batches;
}

}  // namespace linac::data
