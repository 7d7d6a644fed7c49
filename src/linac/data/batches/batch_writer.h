#pragma once
// A Parquet file of record batches, whole or absent. For the sources of this module only: needs Arrow's headers. Used
// by one thread.

#include <arrow/api.h>
#include <parquet/arrow/writer.h>

#include <filesystem>
#include <memory>
#include <string>

namespace linac::data {

class BatchWriter {
 public:
  /// Writes beside `path`, hidden until close(). Environment error when that cannot be.
  BatchWriter(std::filesystem::path path, const std::shared_ptr<arrow::Schema>& schema);
  /// Without close() nothing is left of the file.
  ~BatchWriter();
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  /// Row groups of some 64 MiB are written as they fill. Environment error when the disk is full; data error, which
  /// begins with `from`, for texts that are not UTF-8.
  void append(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& from);
  /// Completes the file and puts it in its place, over a former one.
  void close();
  int64_t events() const { return events_; }

  /// The file that a writer of `path` in this process works on.
  static std::filesystem::path hidden(const std::filesystem::path& path);

 private:
  void open();
  void need(const arrow::Status& status) const;
  void flush();

  std::filesystem::path path_, part_;
  std::shared_ptr<arrow::io::FileOutputStream> file_;
  std::unique_ptr<parquet::arrow::FileWriter> writer_;
  std::shared_ptr<arrow::Schema> schema_;
  arrow::RecordBatchVector held_;
  int64_t held_bytes_ = 0, held_events_ = 0, events_ = 0;
  bool in_place_ = false;
};

}  // namespace linac::data
