#include <arrow/io/file.h>
#include <arrow/util/byte_size.h>
#include <parquet/arrow/writer.h>

#include "linac/io/data/formats/batches/batch_writer.h"

namespace linac::data {
namespace {

constexpr int64_t kGroupBytes = int64_t{64} << 20;
constexpr int64_t kGroupEventsMax = int64_t{1} << 20;

class ParquetWriter : public BatchWriter {
 public:
  ParquetWriter(const std::filesystem::path& path, const std::shared_ptr<arrow::Schema>& schema)
      : BatchWriter(path), schema_(schema) {
    auto* const pool = arrow::system_memory_pool();
    auto file = arrow::io::FileOutputStream::Open(part().string());
    need(file.status());
    file_ = std::move(file).ValueUnsafe();
    const auto properties = parquet::WriterProperties::Builder()
                                .memory_pool(pool)
                                ->compression(parquet::Compression::ZSTD)
                                ->enable_page_checksum()
                                ->max_row_group_length(kGroupEventsMax)
                                ->build();
    // Arrow's own types come back: arrays of fixed size, float16, times.
    const auto arrow_properties = parquet::ArrowWriterProperties::Builder().store_schema()->build();
    auto writer = parquet::arrow::FileWriter::Open(*schema_, pool, file_, properties, arrow_properties);
    need(writer.status());
    writer_ = std::move(writer).ValueUnsafe();
  }

  ~ParquetWriter() override {
    writer_.reset();
    if (!file_->closed()) static_cast<void>(file_->Close());
  }

 protected:
  void write(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string&) override {
    const auto bytes = arrow::util::ReferencedBufferSize(*batch);
    need(bytes.status());
    held_.push_back(batch);
    held_bytes_ += *bytes;
    held_events_ += batch->num_rows();
    if (held_bytes_ >= kGroupBytes || held_events_ >= kGroupEventsMax) flush();
  }

  void finish() override {
    flush();
    need(writer_->Close());
    need(file_->Close());
  }

 private:
  void flush() {
    if (held_.empty()) return;
    auto table = arrow::Table::FromRecordBatches(schema_, held_);
    need(table.status());
    need(writer_->WriteTable(**table, kGroupEventsMax));
    held_.clear();
    held_bytes_ = held_events_ = 0;
  }

  std::shared_ptr<arrow::Schema> schema_;
  std::shared_ptr<arrow::io::FileOutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  arrow::RecordBatchVector held_;
  int64_t held_bytes_ = 0, held_events_ = 0;
};

}  // namespace

std::unique_ptr<BatchWriter> open_parquet_writer(const std::filesystem::path& path,
                                                 const std::shared_ptr<arrow::Schema>& schema) {
  return std::make_unique<ParquetWriter>(path, schema);
}

}  // namespace linac::data
