// Parquet through Arrow: the columns that are wanted, of the row groups that hold the range, page by page; of another
// host's file only their ranges.

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>

#include "linac/io/data/formats/arrow_lists.h"
#include "linac/io/data/formats/arrow_records.h"
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

const RecordColumn* find(const std::vector<RecordColumn>& columns, const std::string& name) {
  const auto found = std::ranges::find(columns, name, &RecordColumn::name);
  return found == columns.end() ? nullptr : &*found;
}

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
  /// Fields that hold no records, and the fields of records.
  std::vector<RecordColumn> columns() const {
    std::vector<RecordColumn> columns;
    for (size_t i = 0; i < fields().size(); ++i) std::ranges::move(columns_of(whole(i)), std::back_inserter(columns));
    return columns;
  }
  /// Of a field of the file, as a whole.
  RecordColumn whole(size_t i) const {
    return {.name = fields()[i].field->name(), .field = i, .type = fields()[i].field->type()};
  }
  /// The numbers of the file's columns that it is made of.
  std::vector<int> leaves_of(const RecordColumn& column) const {
    const parquet::arrow::SchemaField* at = &fields()[column.field];
    for (const std::string& step : column.path) {
      while (at->field->type()->id() != arrow::Type::STRUCT) at = &at->children.at(0);
      at = &*std::ranges::find_if(at->children, [&](const auto& child) { return child.field->name() == step; });
    }
    std::vector<int> leaves;
    add_leaves(*at, leaves);
    return leaves;
  }

  /// What next() hands out.
  void choose(std::vector<RecordColumn> wanted, const EventRange& range) {
    wanted_ = std::move(wanted);
    file_.guarded(0, [&] {
      std::vector<size_t> read;
      arrow::FieldVector schema;
      for (const RecordColumn& column : wanted_) {
        read.push_back(column.field);
        std::ranges::move(leaves_of(column), std::back_inserter(leaves_));
        schema.push_back(column.path.empty() ? fields()[column.field].field : arrow::field(column.name, column.type));
      }
      const auto in_order = [](auto& numbers) {
        std::ranges::sort(numbers);
        numbers.erase(std::unique(numbers.begin(), numbers.end()), numbers.end());
      };
      in_order(leaves_);
      in_order(read);
      for (const RecordColumn& column : wanted_)
        places_.push_back(static_cast<int>(std::ranges::lower_bound(read, column.field) - read.begin()));
      schema_ = arrow::schema(schema);
      left_ = range.end(events_) - range.first;
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
        batch = chosen_of(*batch);
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
  std::shared_ptr<arrow::RecordBatch> chosen_of(const arrow::RecordBatch& batch) const {
    arrow::ArrayVector arrays;
    for (size_t i = 0; i < wanted_.size(); ++i)
      arrays.push_back(file_.value(field_of(batch.column(places_[i]), wanted_[i].path), next_));
    return arrow::RecordBatch::Make(schema_, batch.num_rows(), std::move(arrays));
  }

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
  std::vector<RecordColumn> wanted_;
  std::vector<int> groups_, leaves_, places_;  // that are read; places_: of the columns in a batch as it comes
  ParquetFile file_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // goes before file_
  int64_t events_ = 0, next_ = 0;                      // next_: the event that the next batch begins with
  int64_t skip_ = 0, left_ = 0;                        // events
};

/// How the column is stored goes to `stored`.
const RecordColumn& find(const ParquetBatches& file, const std::vector<RecordColumn>& columns,
                         const WantedColumn& wanted, std::vector<StoredColumn>& stored) {
  const RecordColumn* const column = find(columns, wanted.name);
  if (column == nullptr) {
    std::vector<std::string> described;
    for (const RecordColumn& one : columns) described.push_back(one.described());
    file.file().fail(
        fmt::format("no column '{}' (found: {}); name one of these", wanted.name, fmt::join(described, ", ")));
  }
  stored.push_back(stored_as(*column->type));
  const StoredColumn& as = stored.back();
  if (as.is_text && !wanted.texts) refuse_texts(file.name(), wanted.name, as.words);
  if (!as.is_text && !holds_numbers(*column->type))
    file.file().fail(fmt::format("column '{}' is {}, not numbers", wanted.name, as.words));
  return *column;
}

}  // namespace

TableContents parquet_contents(const SourcePtr& source) {
  const ParquetBatches file(source);
  return contents_of(file.events(), file.columns());
}

int64_t parquet_column_bytes(const SourcePtr& source, const std::vector<std::string>& columns) {
  const ParquetBatches file(source);
  const parquet::FileMetaData& metadata = file.file().metadata();
  int64_t bytes = 0;
  for (const RecordColumn& column : file.columns()) {
    if (std::ranges::find(columns, column.name) == columns.end()) continue;
    const std::vector<int> leaves = file.leaves_of(column);
    for (int group = 0; group < metadata.num_row_groups(); ++group)
      for (const int leaf : leaves) bytes += metadata.RowGroup(group)->ColumnChunk(leaf)->total_compressed_size();
  }
  return bytes;
}

std::unique_ptr<TableReader> open_parquet_table(const SourcePtr& source, const std::vector<WantedColumn>& columns) {
  auto batches = std::make_unique<ParquetBatches>(source, Blocks::kForTraining);
  std::vector<StoredColumn> stored;
  std::vector<RecordColumn> chosen;
  batches->file().guarded(0, [&] {
    const std::vector<RecordColumn> all = batches->columns();
    for (const WantedColumn& column : columns) chosen.push_back(find(*batches, all, column, stored));
  });
  batches->choose(std::move(chosen), {});
  return table_of(std::move(batches), source->url(), columns, std::move(stored));
}

std::unique_ptr<BatchReader> open_parquet_batches(const SourcePtr& source, const BatchColumns& columns,
                                                  const EventRange& range, const RecordMarks* /*marks*/) {
  auto batches = std::make_unique<ParquetBatches>(source);
  // Without names records stay what they are.
  std::vector<RecordColumn> known, chosen;
  for (size_t i = 0; i < batches->fields().size(); ++i) known.push_back(batches->whole(i));
  if (columns.names.empty())
    std::ranges::copy_if(known, std::back_inserter(chosen),
                         [&](const auto& one) { return !columns.leaves_out(one.name); });
  std::ranges::move(batches->columns(), std::back_inserter(known));
  for (const std::string& name : columns.names) {
    const RecordColumn* const column = find(known, name);
    if (column == nullptr) {
      std::vector<std::string> found;
      for (const RecordColumn& one : batches->columns()) found.push_back(one.name);
      refuse_missing(source->url(), name, found);
    }
    chosen.push_back(*column);
  }
  batches->choose(std::move(chosen), range);
  return batches;
}

}  // namespace linac::data
