#pragma once
// A file of record batches, whole or absent, in one of the formats that a conversion writes. For the sources of this
// module only: needs Arrow's headers. Used by one thread.

#include <arrow/api.h>

#include <filesystem>
#include <memory>
#include <string>

#include "linac/io/data/rewrite/note.h"
#include "linac/io/data/rewrite/written_format.h"

namespace linac::data {

class BatchWriter {
 public:
  /// Without close() nothing is left of the file.
  virtual ~BatchWriter();
  BatchWriter(const BatchWriter&) = delete;
  BatchWriter& operator=(const BatchWriter&) = delete;

  /// Environment error when the disk is full; data error, which begins with `from`, for what has no form in the format:
  /// texts that are not UTF-8, and what need_forms() cannot know.
  void append(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& from);
  /// Completes the file and puts it in its place, over a former one.
  void close();
  int64_t events() const { return events_; }
  /// Extents of a row, which the format does not keep: they must be the same in all files.
  virtual RowSizes row_sizes() const { return {}; }

  /// The file that a writer of `path` in this process works on.
  static std::filesystem::path hidden(const std::filesystem::path& path);

 protected:
  explicit BatchWriter(std::filesystem::path path);
  /// Where the file is made.
  const std::filesystem::path& part() const { return part_; }
  /// `batch` is sound and has events; events() are those before it.
  virtual void write(const std::shared_ptr<arrow::RecordBatch>& batch, const std::string& from) = 0;
  virtual void finish() = 0;
  [[noreturn]] void fail(const std::string& why) const;
  void need(const arrow::Status& status) const;

 private:
  const std::filesystem::path path_, part_;
  int64_t events_ = 0;
  bool in_place_ = false;
};

/// Writes beside `path`, hidden until close(). `schema` has passed need_forms(). Environment error when that cannot be.
std::unique_ptr<BatchWriter> open_batch_writer(WrittenFormat format, const std::filesystem::path& path,
                                               const std::shared_ptr<arrow::Schema>& schema);
/// Row groups of some 64 MiB are written as they fill.
std::unique_ptr<BatchWriter> open_parquet_writer(const std::filesystem::path& path,
                                                 const std::shared_ptr<arrow::Schema>& schema);
/// A record of features an event.
std::unique_ptr<BatchWriter> open_tfrecord_writer(const std::filesystem::path& path,
                                                  const std::shared_ptr<arrow::Schema>& schema);
/// The same, compressed as a whole.
std::unique_ptr<BatchWriter> open_tfrecord_gzip_writer(const std::filesystem::path& path,
                                                       const std::shared_ptr<arrow::Schema>& schema);
/// A data set a column, written as its chunks fill.
std::unique_ptr<BatchWriter> open_hdf5_writer(const std::filesystem::path& path,
                                              const std::shared_ptr<arrow::Schema>& schema);

/// Throws the data error, which begins with `from`, for a column of a type without a form in the format.
void need_forms(WrittenFormat format, const arrow::Schema& schema, const std::string& from);

}  // namespace linac::data
