// Parquet through Arrow: the wanted columns only, page by page; of another host's file only their ranges.

#include <arrow/api.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/parquet_file.h"
#include "linac/io/data/formats/table_reader.h"

namespace linac::data {
namespace {

// An event may have tens of thousands of values, or one. What is read at once stays in a processor's cache until it is
// packed, if it can.
constexpr int64_t kBlockValues = int64_t{1} << 18, kBlockEventsLeast = 16, kBlockEventsMax = 4096;
constexpr int64_t kColumnBufferBytes = int64_t{1} << 20;

class ParquetTable : public TableReader {
 public:
  ParquetTable(const SourcePtr& source, std::vector<WantedColumn> columns)
      : name_(source->url()),
        columns_(std::move(columns)),
        file_(source, {.block_events = kBlockEventsLeast, .buffer_bytes = kColumnBufferBytes}) {
    for (const WantedColumn& column : columns_) codes_.emplace_back(name_, column.name);
    file_.guarded(0, [&] { find_columns(); });
  }

  std::vector<std::string> fields() const {
    std::vector<std::string> names;
    for (const auto& field : file_.reader().manifest().schema_fields)
      names.push_back(field.field->name() + " " + describe_type(*field.field->type()));
    return names;
  }

  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& field : file_.reader().manifest().schema_fields) names.push_back(field.field->name());
    return names;
  }

  std::vector<std::string> of_texts() const {
    std::vector<std::string> names;
    for (const auto& field : file_.reader().manifest().schema_fields)
      if (holds_texts(*field.field->type())) names.push_back(field.field->name());
    return names;
  }

  int64_t events() const override { return events_; }
  const std::vector<StoredColumn>& columns() const override { return stored_; }

  void next(std::vector<RaggedColumn>& out) override {
    out.assign(columns_.size(), {});
    std::shared_ptr<arrow::RecordBatch> batch;
    file_.guarded(next_, [&] {
      if (!batches_) begin();
      file_.need(batches_->ReadNext(&batch), next_);
      if (batch) file_.need(batch->Validate(), next_);
    });
    if (!batch) {
      if (next_ != events_)
        file_.fail(fmt::format("it ends at event {} of {}; copy or write the file again", next_, events_));
      return;
    }
    for (size_t i = 0; i < out.size(); ++i) {
      const auto column = batch->column(places_[i]);
      out[i] = stored_[i].is_text ? codes_of(*column, next_, codes_[i]) : rows_of(column, name_, columns_[i], next_);
    }
    next_ += batch->num_rows();
  }

 private:
  void find_columns() {
    events_ = file_.metadata().num_rows();
    std::vector<int> fields;
    for (const WantedColumn& column : columns_) fields.push_back(find(column));
    std::vector<int> read = fields;
    std::sort(read.begin(), read.end());
    read.erase(std::unique(read.begin(), read.end()), read.end());
    for (const int field : read)
      add_leaves(file_.reader().manifest().schema_fields[static_cast<size_t>(field)], leaves_);
    for (const int field : fields)
      places_.push_back(static_cast<int>(std::lower_bound(read.begin(), read.end(), field) - read.begin()));
  }

  /// Who only looks at the columns has nothing read ahead.
  void begin() {
    std::vector<int> groups;
    for (int group = 0; group < file_.reader().num_row_groups(); ++group) groups.push_back(group);
    if (file_.ranged() != nullptr) file_.ranged()->read_ahead(file_.metadata(), groups, leaves_);
    file_.reader().set_batch_size(std::clamp(kBlockValues / values_an_event(), kBlockEventsLeast, kBlockEventsMax));
    batches_ = file_.value(file_.reader().GetRecordBatchReader(groups, leaves_), 0);
  }

  /// Of the columns that are read, about, as the footer has it; at least 1.
  int64_t values_an_event() const {
    double values = 0;
    for (int group = 0; group < file_.metadata().num_row_groups(); ++group)
      for (const int leaf : leaves_)
        values += static_cast<double>(file_.metadata().RowGroup(group)->ColumnChunk(leaf)->num_values());
    return static_cast<int64_t>(std::clamp(values / static_cast<double>(std::max<int64_t>(1, events_)), 1.0, 1e9));
  }

  /// The number of the column's field; how it is stored goes to stored_.
  int find(const WantedColumn& column) {
    const auto& schema = file_.reader().manifest().schema_fields;
    for (size_t i = 0; i < schema.size(); ++i) {
      if (schema[i].field->name() != column.name) continue;
      const arrow::DataType& type = *schema[i].field->type();
      const std::string words = describe_type(type);
      const bool texts = holds_texts(type);
      if (texts && !column.texts) refuse_texts(name_, column.name, words);
      if (!texts && !holds_numbers(type)) file_.fail(fmt::format("column '{}' is {}, not numbers", column.name, words));
      stored_.push_back({.words = words,
                         .is_number = texts || type.num_fields() == 0,
                         .is_text = texts,
                         .is_boolean = !texts && holds_booleans(type),
                         .axes = texts ? 0 : list_depth(type)});
      return static_cast<int>(i);
    }
    file_.fail(fmt::format("no column '{}' (found: {}); name one of these", column.name, fmt::join(fields(), ", ")));
  }

  std::string name_;
  std::vector<WantedColumn> columns_;
  std::vector<StoredColumn> stored_;
  std::vector<int> leaves_;  // that are read
  std::vector<int> places_;  // of the columns in a batch
  ParquetFile file_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // goes before file_
  int64_t events_ = 0, next_ = 0;
};

}  // namespace

TableContents parquet_contents(const SourcePtr& source) {
  const ParquetTable table(source, {});
  return {.format = {},
          .events = table.events(),
          .columns = table.fields(),
          .of_texts = table.of_texts(),
          .names = table.names()};
}

int64_t parquet_column_bytes(const SourcePtr& source, const std::vector<std::string>& columns) {
  const ParquetFile file(source, {.block_events = 1, .buffer_bytes = 1 << 16});
  std::vector<int> leaves;
  for (const auto& field : file.reader().manifest().schema_fields)
    if (std::ranges::find(columns, field.field->name()) != columns.end()) add_leaves(field, leaves);
  int64_t bytes = 0;
  for (int group = 0; group < file.metadata().num_row_groups(); ++group)
    for (const int leaf : leaves) bytes += file.metadata().RowGroup(group)->ColumnChunk(leaf)->total_compressed_size();
  return bytes;
}

std::unique_ptr<TableReader> open_parquet_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  return std::make_unique<ParquetTable>(source, columns);
}

}  // namespace linac::data
