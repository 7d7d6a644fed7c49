// Parquet as it is: the columns that are wanted, of the row groups that hold the range.

#include <fmt/format.h>

#include <algorithm>

#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/parquet_file.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockBytes = int64_t{4} << 20;
constexpr int64_t kBlockEventsMax = 16384;
constexpr int64_t kColumnBufferBytes = int64_t{1} << 20;

class ParquetBatches : public BatchReader {
 public:
  ParquetBatches(const SourcePtr& source, const BatchColumns& columns, const EventRange& range)
      : name_(source->url()), file_(source, {.block_events = kBlockEventsMax, .buffer_bytes = kColumnBufferBytes}) {
    file_.guarded(0, [&] {
      events_ = file_.metadata().num_rows();
      find_columns(columns.names);
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
      batch = batch->Slice(skipped, left_);
      if (batch->num_rows() == 0) continue;
      left_ -= batch->num_rows();
      return batch;
    }
    return nullptr;
  }

 private:
  void find_columns(std::vector<std::string> names) {
    const auto& fields = file_.reader().manifest().schema_fields;
    std::vector<std::string> found;
    for (const auto& field : fields) found.push_back(field.field->name());
    if (names.empty()) names = found;
    std::vector<size_t> wanted;
    for (const std::string& name : names) {
      const auto at = std::ranges::find(found, name);
      if (at == found.end()) refuse_missing(name_, name, found);
      wanted.push_back(static_cast<size_t>(at - found.begin()));
    }
    std::vector<size_t> read = wanted;
    std::ranges::sort(read);
    read.erase(std::unique(read.begin(), read.end()), read.end());
    arrow::FieldVector schema;
    for (const size_t field : wanted) {
      schema.push_back(fields[field].field);
      places_.push_back(static_cast<int>(std::ranges::lower_bound(read, field) - read.begin()));
    }
    for (const size_t field : read) add_leaves(fields[field], leaves_);
    schema_ = arrow::schema(schema);
  }

  void find_groups(int64_t first) {
    int64_t begin = 0, bytes = 0;
    const int64_t end = first + left_;
    for (int group = 0; group < file_.metadata().num_row_groups(); ++group) {
      const auto row_group = file_.metadata().RowGroup(group);
      const int64_t rows = row_group->num_rows();
      if (begin + rows > first && begin < end && rows > 0) {
        if (groups_.empty()) next_ = begin;
        groups_.push_back(group);
        bytes += row_group->total_byte_size();
        rows_ += rows;
      }
      begin += rows;
    }
    skip_ = first - next_;
    if (rows_ > 0)
      file_.reader().set_batch_size(
          std::clamp(kBlockBytes / std::max<int64_t>(1, bytes / rows_), int64_t{1}, kBlockEventsMax));
  }

  void begin() {
    if (file_.ranged() != nullptr) file_.ranged()->read_ahead(file_.metadata(), groups_, leaves_);
    batches_ = file_.value(file_.reader().GetRecordBatchReader(groups_, leaves_), 0);
  }

  std::string name_;
  std::vector<int> groups_, leaves_, places_;  // that are read; places_: of the columns in a batch as it comes
  ParquetFile file_;
  std::unique_ptr<arrow::RecordBatchReader> batches_;  // goes before file_
  int64_t events_ = 0, next_ = 0, rows_ = 0;           // next_: the event that the next batch begins with
  int64_t skip_ = 0, left_ = 0;                        // events
};

}  // namespace

std::unique_ptr<BatchReader> open_parquet_batches(const SourcePtr& source, const BatchColumns& columns,
                                                  const EventRange& range, const RecordMarks* /*marks*/) {
  return std::make_unique<ParquetBatches>(source, columns, range);
}

}  // namespace linac::data
