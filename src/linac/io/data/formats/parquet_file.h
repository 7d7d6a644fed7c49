#pragma once
// An open Parquet file, with Arrow's failures as ours. For the sources of this module only: needs Arrow's headers. Used
// by one thread.

#include <arrow/api.h>
#include <parquet/arrow/reader.h>
#include <parquet/arrow/schema.h>

#include <memory>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/arrow_source.h"
#include "linac/io/storage/source.h"

namespace linac::data {

/// Adds the numbers of the columns with values under a field.
void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves);

class ParquetFile {
 public:
  struct Options {
    int64_t block_events = 0;  // that are read at once
    int64_t buffer_bytes = 0;  // of a column
  };
  /// Data error for what is no Parquet file or is damaged; errors of the Source. Checksums of pages are compared where
  /// the file has them.
  ParquetFile(const std::shared_ptr<const storage::Source>& source, const Options& options);

  parquet::arrow::FileReader& reader() const { return *file_; }
  const parquet::FileMetaData& metadata() const { return *file_->parquet_reader()->metadata(); }
  /// Of a file of another host, else null.
  RangedFile* ranged() const { return ranged_.get(); }

  /// Data error "[parquet] FILE: WHAT".
  [[noreturn]] void fail(const std::string& what) const;
  /// Throws what the Source threw, or the data error for a failure near this event.
  void need(const arrow::Status& status, int64_t near_event) const;
  template <class T>
  T value(arrow::Result<T> result, int64_t near_event) const {
    need(result.status(), near_event);
    return std::move(result).ValueUnsafe();
  }
  /// Runs `work`, with Parquet's own exceptions as ours.
  template <class Work>
  void guarded(int64_t near_event, Work&& work) const {
    try {
      work();
    } catch (const Error&) {
      throw;
    } catch (const std::exception& error) {
      need(arrow::Status::IOError(error.what()), near_event);
    }
  }

 private:
  const std::string name_;
  std::shared_ptr<RangedFile> ranged_;
  std::unique_ptr<parquet::arrow::FileReader> file_;
};

}  // namespace linac::data
