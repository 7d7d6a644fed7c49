// The columns of a ROOT file's only tree or RNTuple, or of one that is named, of the type that they have.

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/root_file.h"
#include "linac/io/root/table.h"

namespace linac::data {
namespace {

constexpr double kBlockBytes = 4 << 20;
constexpr int64_t kBlockEventsMax = 16384;

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

class RootBatches : public BatchReader {
 public:
  RootBatches(const SourcePtr& source, std::vector<std::string> names, const EventRange& range)
      : name_(source->url()), tables_(root::tables_of(open_root_file(source))) {
    std::vector<std::string> found;
    for (const auto& table : tables_)
      for (const root::ColumnInfo& column : table->columns()) found.push_back(full_name(*table, column));
    if (names.empty()) names = all_of_one();
    double bytes = 1;
    arrow::FieldVector fields;
    for (const std::string& name : names) {
      add(name, found);
      const root::ColumnInfo& info = *columns_.back().info;
      auto type = fixed_type(info.extents, type_named(info.type));
      for (int i = 0; i < info.lists; ++i) type = arrow::list(type);
      fields.push_back(arrow::field(name, type));
      bytes += info.bytes_an_event;
    }
    schema_ = arrow::schema(fields);
    block_events_ = std::clamp(static_cast<int64_t>(kBlockBytes / bytes), int64_t{1}, kBlockEventsMax);
    next_ = range.first;
    end_ = range.count < 0 ? events_ : range.first + range.count;
  }

  int64_t events() const override { return events_; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    const int64_t count = std::min(block_events_, end_ - next_);
    if (count <= 0) return nullptr;
    arrow::ArrayVector arrays;
    for (Column& column : columns_) arrays.push_back(read(column, count));
    next_ += count;
    return arrow::RecordBatch::Make(schema_, count, arrays);
  }

 private:
  struct Column {
    const root::ColumnInfo* info = nullptr;
    std::unique_ptr<root::ColumnReader> reader;
  };

  std::string full_name(const root::Table& table, const root::ColumnInfo& column) const {
    return tables_.size() == 1 ? column.name : table.name() + "/" + column.name;
  }

  std::vector<std::string> all_of_one() const {
    if (tables_.size() != 1)
      throw data_error(fmt::format("[root] {}: it holds {} trees or RNTuples; name columns of one (--columns)", name_,
                                   tables_.size()));
    std::vector<std::string> names;
    for (const root::ColumnInfo& column : tables_.front()->columns()) names.push_back(column.name);
    return names;
  }

  void add(const std::string& name, const std::vector<std::string>& found) {
    for (const auto& table : tables_) {
      for (size_t i = 0; i < table->columns().size(); ++i) {
        const root::ColumnInfo& info = table->columns()[i];
        const bool same = name == table->name() + "/" + info.name || (tables_.size() == 1 && name == info.name);
        if (!same) continue;
        if (!info.refused.empty()) refuse_form(name_, name, info.refused);
        if (columns_.empty()) events_ = table->events();
        if (table->events() != events_)
          throw data_error(
              fmt::format("[root] {}: '{}' holds {} events and the columns before it {}; name columns of "
                          "one tree (--columns)",
                          name_, name, table->events(), events_));
        columns_.push_back({&info, table->reader(i)});
        return;
      }
    }
    refuse_missing(name_, name, found);
  }

  std::shared_ptr<arrow::Array> read(Column& column, int64_t count) const {
    root::Block block;
    block.as_stored = true;
    column.reader->read(next_, count, block);
    const root::ColumnInfo& info = *column.info;
    if (info.is_text) return texts_of(block.texts, true);
    auto array = fixed_of(info.extents, numbers_of(type_named(info.type), block.stored));
    if (info.lists == 2) array = lists_of(block.inner, array);
    return info.lists > 0 ? lists_of(block.outer, array) : array;
  }

  std::string name_;
  std::vector<std::unique_ptr<root::Table>> tables_;
  std::vector<Column> columns_;
  int64_t events_ = 0, next_ = 0, end_ = 0, block_events_ = 1;
};

}  // namespace

std::unique_ptr<BatchReader> open_root_batches(const SourcePtr& source, const BatchColumns& columns,
                                               const EventRange& range, const RecordMarks* /*marks*/) {
  return std::make_unique<RootBatches>(source, columns.names, range);
}

}  // namespace linac::data
