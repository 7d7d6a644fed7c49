// Parquet through Arrow: the columns that are wanted, of the row groups that hold the range, page by page; of another
// host's file only their ranges.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/batches/batch_table.h"
#include "linac/io/data/formats/parquet_file.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockBytes = int64_t{4} << 20;
constexpr int64_t kBlockEventsMax = 16384;
// For training: an event may have tens of thousands of values, or one. What is read at once stays in a processor's
// cache until it is packed, if it can.
constexpr int64_t kTrainingValues = int64_t{1} << 18, kTrainingEventsLeast = 16, kTrainingEventsMax = 4096;
constexpr int64_t kColumnBufferBytes = int64_t{1} << 20;

enum class Blocks { kForTraining, kForFiles };

class ParquetBatches : public BatchReader {
 public:
  explicit ParquetBatches(const SourcePtr& source, Blocks blocks = Blocks::kForFiles)
      : name_(source->url()),
        blocks_(blocks),
        file_(source, {.block_events = kTrainingEventsLeast, .buffer_bytes = kColumnBufferBytes}) {
    file_.guarded(0, [&] { events_ = file_.metadata().num_rows(); });
  }

  const std::string& name() const { return name_; }
  const ParquetFile& file() const { return file_; }
  const std::vector<parquet::arrow::SchemaField>& fields() const { return file_.reader().manifest().schema_fields; }
  std::vector<std::string> names() const {
    std::vector<std::string> names;
    for (const auto& field : fields()) names.push_back(field.field->name());
    return names;
  }
  std::vector<std::string> described() const {
    std::vector<std::string> words;
    for (const auto& field : fields()) words.push_back(field.field->name() + " " + describe_type(*field.field->type()));
    return words;
  }

  /// What next() hands out: these fields of the file, in this order.
  void choose(const std::vector<size_t>& wanted, const EventRange& range) {
    file_.guarded(0, [&] {
      std::vector<size_t> read = wanted;
      std::ranges::sort(read);
      read.erase(std::unique(read.begin(), read.end()), read.end());
      arrow::FieldVector schema;
      for (const size_t field : wanted) {
        schema.push_back(fields()[field].field);
        places_.push_back(static_cast<int>(std::ranges::lower_bound(read, field) - read.begin()));
      }
      for (const size_t field : read) add_leaves(fields()[field], leaves_);
      schema_ = arrow::schema(schema);
      left_ = range.count < 0 ? events_ - range.first : range.count;
      find_groups(range.first);
    });
  }

  int64_t events() const override { return events_; }

  std::shared_ptr<arrow::RecordBatch> next() override {
    while (left_ > 0) {
      std::shared_ptr<arrow::RecordBatch> batch;
      file_.guarded(next_, [&] {
        if (!batches_) begin();
        file_.need(batches_->ReadNext(&batch), next_);
        if (!batch) return;
        file_.need(batch->Validate(), next_);
        batch = file_.value(batch->SelectColumns(places_), next_);
      });
      if (!batch) file_.fail(fmt::format("it ends at event {} of {}; copy or write the file again", next_, events_));
      next_ += batch->num_rows();
      const int64_t skipped = std::min(skip_, batch->num_rows());
      skip_ -= skipped;
      if (skipped > 0 || left_ < batch->num_rows()) batch = batch->Slice(skipped, left_);
      if (batch->num_rows() == 0) continue;
      left_ -= batch->num_rows();
      return batch;
    }
    return nullptr;
  }

 private:
  void find_groups(int64_t first) {
    int64_t begin = 0;
    const int64_t end = first + left_;
    for (int group = 0; group < file_.metadata().num_row_groups(); ++group) {
      const int64_t rows = file_.metadata().RowGroup(group)->num_rows();
      if (begin + rows > first && begin < end && rows > 0) {
        if (groups_.empty()) next_ = begin;
        groups_.push_back(group);
      }
      begin += rows;
    }
    if (begin != events_)
      file_.fail(fmt::format("it ends at event {} of {}; copy or write the file again", begin, events_));
    skip_ = first - next_;
  }

  /// Who only looks at the columns has nothing read ahead.
  void begin() {
    if (file_.ranged() != nullptr) file_.ranged()->read_ahead(file_.metadata(), groups_, leaves_);
    file_.reader().set_batch_size(block_events());
    batches_ = file_.value(file_.reader().GetRecordBatchReader(groups_, leaves_), 0);
  }

  /// As the footer has it: of the columns that are read, about.
  int64_t block_events() const {
    double rows = 0, bytes = 0, values = 0;
    for (const int number : groups_) {
      const auto group = file_.metadata().RowGroup(number);
      rows += static_cast<double>(group->num_rows());
      bytes += static_cast<double>(group->total_byte_size());
      for (const int leaf : leaves_) values += static_cast<double>(group->ColumnChunk(leaf)->num_values());
    }
    const auto an_event = [&](double all) {
      return static_cast<int64_t>(std::clamp(all / std::max(rows, 1.0), 1.0, 1e9));
    };
    if (blocks_ == Blocks::kForTraining)
      return std::clamp(kTrainingValues / an_event(values), kTrainingEventsLeast, kTrainingEventsMax);
    return std::clamp(kBlockBytes / an_event(bytes), int64_t{1}, kBlockEventsMax);
  }

  std::string name_;
  const Blocks blocks_;
  std::vector<int> groups_, leaves_, places_;  // that are read; places_: of the columns in a batch as it comes
  ParquetFile file_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // goes before file_
  int64_t events_ = 0, next_ = 0;                      // next_: the event that the next batch begins with
  int64_t skip_ = 0, left_ = 0;                        // events
};

/// The number of the column's field; how it is stored goes to `stored`.
size_t find(const ParquetBatches& file, const WantedColumn& column, std::vector<StoredColumn>& stored) {
  const std::vector<std::string> names = file.names();
  const auto at = static_cast<size_t>(std::ranges::find(names, column.name) - names.begin());
  if (at == names.size())
    file.file().fail(
        fmt::format("no column '{}' (found: {}); name one of these", column.name, fmt::join(file.described(), ", ")));
  const arrow::DataType& type = *file.fields()[at].field->type();
  stored.push_back(stored_as(type));
  const StoredColumn& as = stored.back();
  if (as.is_text && !column.texts) refuse_texts(file.name(), column.name, as.words);
  if (!as.is_text && !holds_numbers(type))
    file.file().fail(fmt::format("column '{}' is {}, not numbers", column.name, as.words));
  return at;
}

}  // namespace

TableContents parquet_contents(const SourcePtr& source) {
  const ParquetBatches file(source);
  TableContents contents{
      .format = {}, .events = file.events(), .columns = file.described(), .of_texts = {}, .names = file.names()};
  for (const auto& field : file.fields())
    if (holds_texts(*field.field->type())) contents.of_texts.push_back(field.field->name());
  return contents;
}

int64_t parquet_column_bytes(const SourcePtr& source, const std::vector<std::string>& columns) {
  const ParquetBatches file(source);
  std::vector<int> leaves;
  for (const auto& field : file.fields())
    if (std::ranges::find(columns, field.field->name()) != columns.end()) add_leaves(field, leaves);
  const parquet::FileMetaData& metadata = file.file().metadata();
  int64_t bytes = 0;
  for (int group = 0; group < metadata.num_row_groups(); ++group)
    for (const int leaf : leaves) bytes += metadata.RowGroup(group)->ColumnChunk(leaf)->total_compressed_size();
  return bytes;
}

std::unique_ptr<TableReader> open_parquet_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  auto batches = std::make_unique<ParquetBatches>(source, Blocks::kForTraining);
  std::vector<StoredColumn> stored;
  std::vector<size_t> fields;
  batches->file().guarded(0, [&] {
    for (const WantedColumn& column : columns) fields.push_back(find(*batches, column, stored));
  });
  batches->choose(fields, {});
  return table_of(std::move(batches), source->url(), columns, std::move(stored));
}

std::unique_ptr<BatchReader> open_parquet_batches(const SourcePtr& source, const BatchColumns& columns,
                                                  const EventRange& range, const RecordMarks* /*marks*/) {
  auto batches = std::make_unique<ParquetBatches>(source);
  const std::vector<std::string> found = batches->names();
  std::vector<size_t> fields;
  for (const std::string& name : columns.names.empty() ? found : columns.names) {
    const auto at = std::ranges::find(found, name);
    if (at == found.end()) refuse_missing(source->url(), name, found);
    fields.push_back(static_cast<size_t>(at - found.begin()));
  }
  batches->choose(fields, range);
  return batches;
}

}  // namespace linac::data
