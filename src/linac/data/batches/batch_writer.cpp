#include "linac/data/batches/batch_writer.h"

#include <arrow/io/file.h>
#include <arrow/util/byte_size.h>
#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include "linac/base/atomic_file.h"
#include "linac/base/error.h"

namespace linac::data {
namespace {

constexpr int64_t kGroupBytes = int64_t{64} << 20;
constexpr int64_t kGroupEventsMax = int64_t{1} << 20;

}  // namespace

std::filesystem::path BatchWriter::hidden(const std::filesystem::path& path) {
  return path.parent_path() / fmt::format(".{}.{}.tmp", path.filename().string(), ::getpid());
}

BatchWriter::BatchWriter(std::filesystem::path path, const std::shared_ptr<arrow::Schema>& schema)
    : path_(std::move(path)), part_(hidden(path_)), schema_(schema) {
  try {
    open();
  } catch (...) {  // no destructor follows
    writer_.reset();
    file_.reset();
    ::unlink(part_.c_str());
    throw;
  }
}

void BatchWriter::open() {
  auto* const pool = arrow::system_memory_pool();
  auto file = arrow::io::FileOutputStream::Open(part_.string());
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

BatchWriter::~BatchWriter() {
  if (in_place_) return;
  writer_.reset();
  if (file_) static_cast<void>(file_->Close());
  ::unlink(part_.c_str());
}

void BatchWriter::need(const arrow::Status& status) const {
  if (status.ok()) return;
  throw environment_error(fmt::format("[parquet] {}: cannot be written ({}); check folder, permissions and space",
                                      path_.string(), status.message()));
}

void BatchWriter::append(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& from) {
  if (batch->num_rows() == 0) return;
  if (const arrow::Status status = batch->ValidateFull(); !status.ok())
    throw data_error(fmt::format("{}: {}; mend the file, or leave the column out (--columns)", from, status.message()));
  const auto bytes = arrow::util::ReferencedBufferSize(*batch);
  need(bytes.status());
  held_.push_back(batch);
  held_bytes_ += *bytes;
  held_events_ += batch->num_rows();
  events_ += batch->num_rows();
  if (held_bytes_ >= kGroupBytes || held_events_ >= kGroupEventsMax) flush();
}

void BatchWriter::flush() {
  if (held_.empty()) return;
  auto table = arrow::Table::FromRecordBatches(schema_, held_);
  need(table.status());
  need(writer_->WriteTable(**table, kGroupEventsMax));
  held_.clear();
  held_bytes_ = held_events_ = 0;
}

void BatchWriter::close() {
  flush();
  need(writer_->Close());
  need(file_->Close());
  in_place_ = put_in_place(part_, path_);
  if (!in_place_) need(arrow::Status::IOError(std::generic_category().message(errno)));
}

}  // namespace linac::data
