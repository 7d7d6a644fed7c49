#pragma once
// Event files as Arrow's record batches: every column with the type and the values that the file stores, nothing
// rounded. table_reader.h is the way in for training, which wants float32; this one is for rewriting files. For the
// sources of this module only: needs Arrow's headers. A reader is used by one thread.

#include <arrow/api.h>

#include <algorithm>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/base/columns/table_stats.h"
#include "linac/io/data/formats/record_marks.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/storage/source.h"

namespace linac::data {

/// Events of a file; count < 0: to its end.
struct EventRange {
  int64_t first = 0, count = -1;

  /// Behind its last one, of a file of so many.
  int64_t end(int64_t events) const { return count < 0 ? events : first + count; }
};

class BatchReader {
 public:
  virtual ~BatchReader() = default;
  /// Of the columns that are read, in their order.
  const std::shared_ptr<arrow::Schema>& schema() const { return schema_; }
  /// Where all columns are read: those that cannot be.
  const std::vector<columns::LeftOutColumn>& left_out() const { return left_out_; }
  /// Of the whole file; -1 where only reading to the end tells.
  virtual int64_t events() const = 0;
  /// The next events of the range in bounded memory; null after the last. Data error naming file, column and event for
  /// what is damaged.
  virtual std::shared_ptr<arrow::RecordBatch> next() = 0;

 protected:
  std::shared_ptr<arrow::Schema> schema_;
  std::vector<columns::LeftOutColumn> left_out_;
};

struct BatchColumns {
  std::vector<std::string> names;         // in this order; empty: all of the file that can be read
  std::vector<std::string> without = {};  // but for these
  /// Of TFRecord: lists, though the first record has one value; any other feature with one value there is a number.
  std::vector<std::string> lists = {};

  bool leaves_out(const std::string& name) const { return std::ranges::find(without, name) != without.end(); }
};

/// Data error naming file and column for one that is missing (with those the file has), or that has no form in a batch.
/// `marks`: of a TFRecord file that was counted; the reader begins near the range then, and borrows nothing of them.
std::unique_ptr<BatchReader> open_batches(const SourcePtr& source, const BatchColumns& columns,
                                          const EventRange& range = {}, const RecordMarks* marks = nullptr);

// What the table of formats has of each.
std::unique_ptr<BatchReader> open_hdf5_batches(const SourcePtr& source, const BatchColumns& columns,
                                               const EventRange& range, const RecordMarks* marks);
std::unique_ptr<BatchReader> open_parquet_batches(const SourcePtr& source, const BatchColumns& columns,
                                                  const EventRange& range, const RecordMarks* marks);
std::unique_ptr<BatchReader> open_arrow_batches(const SourcePtr& source, const BatchColumns& columns,
                                                const EventRange& range, const RecordMarks* marks);
std::unique_ptr<BatchReader> open_root_batches(const SourcePtr& source, const BatchColumns& columns,
                                               const EventRange& range, const RecordMarks* marks);
std::unique_ptr<BatchReader> open_tfrecord_batches(const SourcePtr& source, const BatchColumns& columns,
                                                   const EventRange& range, const RecordMarks* marks);

/// Throws the data error for a column that has no form in a batch.
[[noreturn]] void refuse_form(const std::string& name, const std::string& column, const std::string& why);

// --- columns from bytes

/// Numbers as they lie in memory, a bool in a byte. The bytes are copied, a buffer is not.
std::shared_ptr<arrow::Array> numbers_of(const std::shared_ptr<arrow::DataType>& type,
                                         std::span<const std::byte> bytes);
std::shared_ptr<arrow::Array> numbers_of(const std::shared_ptr<arrow::DataType>& type,
                                         std::shared_ptr<arrow::Buffer> buffer);
/// Texts, or byte strings.
std::shared_ptr<arrow::Array> texts_of(const std::vector<std::string>& texts, bool utf8);
/// Lists of these lengths around values.
std::shared_ptr<arrow::Array> lists_of(std::span<const uint32_t> lengths, const std::shared_ptr<arrow::Array>& values);
/// Arrays of fixed extents around values, the outermost first.
std::shared_ptr<arrow::Array> fixed_of(std::span<const int64_t> extents, std::shared_ptr<arrow::Array> values);
std::shared_ptr<arrow::DataType> fixed_type(std::span<const int64_t> extents, std::shared_ptr<arrow::DataType> type);

}  // namespace linac::data
