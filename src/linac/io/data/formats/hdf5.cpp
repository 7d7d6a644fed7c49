// Data sets [events, ...] of HDF5 files, in the root and in groups, fields of records, lists and texts.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <memory>
#include <numeric>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/base/base/plural.h"
#include "linac/io/data/formats/batches/batch_table.h"
#include "linac/io/data/formats/batches/hdf5_types.h"
#include "linac/io/data/formats/hdf5_columns.h"
#include "linac/io/data/formats/hdf5_events.h"
#include "linac/io/data/formats/hdf5_lists.h"
#include "linac/io/data/formats/hdf5_texts.h"
#include "linac/io/data/formats/hdf5_variable.h"

namespace linac::data {
namespace {

using hdf5::Handle;
using Kind = Hdf5Column::Kind;
using TypePtr = std::shared_ptr<arrow::DataType>;

constexpr int64_t kBlockBytes = int64_t{4} << 20;
constexpr int64_t kTrainingEventsMax = 4096, kFileEventsMax = 16384;
constexpr int64_t kBlockBytesMax = int64_t{64} << 20;  // where a chunk is larger than a block
constexpr int64_t kFirstEventsOfLists = 64;            // which tell how long lists are

/// Events that are there, by how many values are stored for as many: those of the file are what most values belong to.
int64_t events_of(const std::vector<Hdf5Column>& columns) {
  std::map<int64_t, double> values;
  for (const Hdf5Column& column : columns)
    if (column.refused.empty()) values[column.events] += static_cast<double>(column.events * column.event_values());
  const auto most = std::ranges::max_element(values, {}, [](const auto& one) { return one.second; });
  return most == values.end() ? 0 : most->first;
}

enum class Blocks { kForTraining, kForFiles };

bool holds_texts(const Hdf5Column& column) {
  return column.kind == Kind::kTexts && column.refused.empty();
}

class Hdf5Batches : public BatchReader {
 public:
  Hdf5Batches(const std::filesystem::path& path, std::string name) : path_(path), name_(std::move(name)) {
    const hdf5::Lock lock;
    file_ = open_hdf5(path, name_);
  }

  ~Hdf5Batches() override {
    columns_.clear();
    const hdf5::Lock lock;
    sets_.clear();
    file_.close();
  }

  const std::string& name() const { return name_; }
  std::vector<Hdf5Column> all() const {
    const hdf5::Lock lock;
    return hdf5_columns(file_.get());
  }

  /// Data error for one that is not there, or not read.
  Hdf5Column find(const std::string& column) const {
    const hdf5::Lock lock;
    if (auto found = hdf5_column(file_.get(), column)) {
      if (found->refused.empty()) return *found;
      throw data_error(fmt::format("[hdf5] {}: '{}' is not read ({}); name others", name_, column, found->refused));
    }
    std::vector<std::string> names, described;
    for (const Hdf5Column& one : hdf5_columns(file_.get())) {
      names.push_back(one.name);
      described.push_back(one.described());
    }
    const auto near = nearest(column, names);
    throw data_error(fmt::format("[hdf5] {}: no data set '{}' (found: {}); {}", name_, column,
                                 fmt::join(described, ", "),
                                 near ? fmt::format("did you mean '{}'?", *near) : "name one of these"));
  }

  /// `number`: the type that its numbers are read as.
  void add(const Hdf5Column& column, const TypePtr& number) {
    need_events(column);
    Column one{.name = column.name, .extents = column.extents, .number = number};
    if (column.kind == Kind::kLists) {
      const auto memory = [&] { return hdf5_type_of(*number); };
      if (column.is_variable)
        one.lists = std::make_unique<VariableLists>(path_, name_, column.set, memory);
      else
        one.lists = std::make_unique<EventLists>(path_, name_, column.set, memory);
    } else if (column.kind == Kind::kTexts && column.fields.empty()) {
      one.texts = std::make_unique<EventTexts>(path_, column.set);
    } else {
      const hdf5::Lock lock;
      if (column.kind == Kind::kTexts) one.number = nullptr;
      one.set = set_of(column);
      one.place = one.set->add(column, number);
    }
    fields_.push_back(arrow::field(column.name, one.type()));
    columns_.push_back(std::move(one));
  }

  void leave_out(const std::string& column, const std::string& why) { left_out_.push_back({column, why}); }
  bool is_empty() const { return columns_.empty(); }
  /// Of the column that was added last.
  const arrow::DataType& type_of_last() const { return *fields_.back()->type(); }

  /// All columns are there.
  void begin(const EventRange& range, Blocks blocks) {
    events_max_ = blocks == Blocks::kForTraining ? kTrainingEventsMax : kFileEventsMax;
    schema_ = arrow::schema(fields_);
    const hdf5::Lock lock;
    event_bytes_ = 1;
    int64_t chunk = 1;
    for (const auto& set : sets_) {
      event_bytes_ += set->event_bytes();
      chunk = std::max(chunk, set->chunk_events());
    }
    block_events_ = events_in(event_bytes_);
    // A chunk is unpacked whole: as few blocks as can be share one.
    if (chunk > 1 && blocks == Blocks::kForTraining) block_events_ = (block_events_ + chunk - 1) / chunk * chunk;
    block_events_ = std::clamp(kBlockBytesMax / event_bytes_, int64_t{1}, block_events_);
    has_lists_ = std::ranges::any_of(columns_, [](const Column& column) { return column.lists != nullptr; });
    if (has_lists_) block_events_ = std::min(block_events_, kFirstEventsOfLists);
    next_ = range.first;
    end_ = range.end(events_);
  }

  int64_t events() const override { return events_; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    const int64_t count = std::min(block_events_, end_ - next_);
    if (count <= 0) return nullptr;
    arrow::ArrayVector arrays;
    int64_t in_lists = 0;
    for (const Column& column : columns_)
      arrays.push_back(column.lists   ? lists(column, count, in_lists)
                       : column.texts ? texts_of(column.texts->read(next_, count), true)
                                      : values(column, count));
    next_ += count;
    if (has_lists_) block_events_ = events_in(event_bytes_ + in_lists / count);
    return arrow::RecordBatch::Make(schema_, count, arrays);
  }

 private:
  struct Column {
    std::string name;
    std::vector<int64_t> extents;  // of an event, or of a row in lists
    TypePtr number;                // null: texts
    std::unique_ptr<EventTexts> texts = {};
    std::unique_ptr<ListSource> lists = {};
    Hdf5Set* set = nullptr;  // of what is neither
    size_t place = 0;

    TypePtr type() const {
      if (texts || !number) return arrow::utf8();
      return lists ? arrow::list(fixed_type(extents, number)) : fixed_type(extents, number);
    }
  };

  int64_t events_in(int64_t event_bytes) const {
    return std::clamp(kBlockBytes / event_bytes, int64_t{1}, events_max_);
  }

  void need_events(const Hdf5Column& column) {
    if (columns_.empty()) events_ = column.events;
    if (column.events == events_) return;
    throw data_error(
        fmt::format("[hdf5] {}: '{}' holds {} events but '{}' holds {}; name columns of as many events each", name_,
                    column.name, column.events, columns_.front().name, events_));
  }

  Hdf5Set* set_of(const Hdf5Column& column) {
    for (const auto& set : sets_)
      if (set->takes(column)) return set.get();
    return sets_.emplace_back(std::make_unique<Hdf5Set>(file_.get(), column)).get();
  }

  std::shared_ptr<arrow::Array> values(const Column& column, int64_t count) const {
    std::vector<std::byte> bytes;
    {
      const hdf5::Lock lock;
      if (!column.set->read(column.place, next_, count, bytes))
        throw data_error(fmt::format("[hdf5] {}: '{}' cannot be read at event {} ({})", name_, column.name, next_,
                                     hdf5::last_error()));
      if (!column.number) return texts_of(column.set->texts_in(column.place, bytes), true);
    }
    return fixed_of(column.extents, numbers_of(column.number, arrow::Buffer::FromVector(std::move(bytes))));
  }

  std::shared_ptr<arrow::Array> lists(const Column& column, int64_t count, int64_t& read_bytes) const {
    std::vector<uint32_t> rows;
    auto bytes = column.lists->read(next_, count, rows);
    read_bytes += static_cast<int64_t>(bytes.size());
    return lists_of(rows,
                    fixed_of(column.extents, numbers_of(column.number, arrow::Buffer::FromVector(std::move(bytes)))));
  }

  const std::filesystem::path path_;
  const std::string name_;
  Handle file_;
  std::vector<std::unique_ptr<Hdf5Set>> sets_;
  std::vector<Column> columns_;
  arrow::FieldVector fields_;
  bool has_lists_ = false;
  int64_t events_max_ = 1, events_ = 0, next_ = 0, end_ = 0, block_events_ = 1, event_bytes_ = 1;
};

/// As the column is wanted: formulas and comparisons take what is stored, training float32.
TypePtr read_as(const Hdf5Column& column, const WantedColumn& wanted) {
  if (column.is_coded || (column.number && column.number->id() == arrow::Type::BOOL)) return column.number;
  if (wanted.exact || wanted.any_form) return column.number ? column.number : arrow::float64();
  return arrow::float32();
}

}  // namespace

TableContents hdf5_contents(const SourcePtr& source) {
  const std::vector<Hdf5Column> columns = Hdf5Batches(source->local(), source->url()).all();
  TableContents contents{.format = {}, .events = events_of(columns), .columns = {}};
  for (const Hdf5Column& column : columns) {
    contents.columns.push_back(column.described());
    contents.names.push_back(column.name);
    if (holds_texts(column)) contents.of_texts.push_back(column.name);
  }
  return contents;
}

std::vector<int64_t> hdf5_event_shape(const SourcePtr& source, const std::string& column) {
  const Hdf5Column found = Hdf5Batches(source->local(), source->url()).find(column);
  if (found.kind == Kind::kNumbers) return found.extents;
  if (found.kind == Kind::kLists) {
    std::vector<int64_t> shape{0};
    shape.insert(shape.end(), found.extents.begin(), found.extents.end());
    return shape;
  }
  throw data_error(fmt::format("[hdf5] {}: '{}' is not a list of numbers of one shape", source->url(), column));
}

std::unique_ptr<TableReader> open_hdf5_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  auto batches = std::make_unique<Hdf5Batches>(source->local(), source->url());
  std::vector<StoredColumn> stored;
  for (const WantedColumn& wanted : columns) {
    const Hdf5Column column = batches->find(wanted.name);
    if (column.kind == Kind::kTexts && !wanted.texts) refuse_texts(batches->name(), wanted.name, "a list of texts");
    if (column.kind != Kind::kTexts)
      need_fit(batches->name(), wanted, column.kind == Kind::kLists ? 1 : 0, column.extents, column.words());
    batches->add(column, read_as(column, wanted));
    stored.push_back(stored_as(batches->type_of_last()));
    stored.back().words = column.words();
    if (column.number) {
      stored.back().is_double = column.number->id() == arrow::Type::DOUBLE;
      stored.back().is_float = arrow::is_floating(column.number->id()) && !stored.back().is_double;
    }
  }
  batches->begin({}, Blocks::kForTraining);
  return table_of(std::move(batches), source->url(), columns, std::move(stored));
}

std::unique_ptr<BatchReader> open_hdf5_batches(const SourcePtr& source, const BatchColumns& columns,
                                               const EventRange& range, const RecordMarks* /*marks*/) {
  auto batches = std::make_unique<Hdf5Batches>(source->local(), source->url());
  const auto add = [&](const Hdf5Column& column) {
    if (column.kind != Kind::kTexts && !column.number)
      refuse_form(source->url(), column.name, "neither numbers nor texts that are known");
    batches->add(column, column.number);
  };
  for (const std::string& name : columns.names) add(batches->find(name));
  if (columns.names.empty()) {
    const std::vector<Hdf5Column> all = batches->all();
    const int64_t events = events_of(all);
    for (const Hdf5Column& column : all) {
      if (columns.leaves_out(column.name)) continue;
      if (!column.refused.empty())
        batches->leave_out(column.name, column.refused);
      else if (column.events != events)
        batches->leave_out(column.name, fmt::format("{} of its own", plural(column.events, "event")));
      else
        add(column);
    }
    if (batches->is_empty())
      throw data_error(fmt::format(
          "[hdf5] {}: no data set in it that can be read{}", source->url(),
          batches->left_out().empty()
              ? ""
              : fmt::format(" ('{}': {})", batches->left_out().front().name, batches->left_out().front().why)));
  }
  batches->begin(range, Blocks::kForFiles);
  return batches;
}

}  // namespace linac::data
