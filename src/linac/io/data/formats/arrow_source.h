#pragma once
// A file of another host as Arrow reads files. For the sources of this module only: needs Arrow's headers. Used by one
// thread.

#include <arrow/io/interfaces.h>
#include <parquet/metadata.h>

#include <exception>
#include <memory>
#include <vector>

#include "linac/io/storage/read_ahead.h"
#include "linac/io/storage/source.h"

namespace linac::data {

class RangedFile : public arrow::io::RandomAccessFile {
 public:
  explicit RangedFile(std::shared_ptr<const storage::Source> source);

  /// These columns of these row groups will be read, group by group, side by side in a group: their bytes come ahead,
  /// and no others do.
  void read_ahead(const parquet::FileMetaData& metadata, const std::vector<int>& groups,
                  const std::vector<int>& columns);
  /// What the Source threw, which Arrow knows as a failure only.
  void rethrow() const;

  arrow::Status Close() override;
  bool closed() const override { return closed_; }
  arrow::Result<int64_t> Tell() const override { return place_; }
  arrow::Status Seek(int64_t place) override;
  arrow::Result<int64_t> GetSize() override { return source_->size(); }
  arrow::Result<int64_t> Read(int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> Read(int64_t bytes) override;
  arrow::Result<int64_t> ReadAt(int64_t place, int64_t bytes, void* out) override;
  arrow::Result<std::shared_ptr<arrow::Buffer>> ReadAt(int64_t place, int64_t bytes) override;

 private:
  int64_t tail_begin() const { return source_->size() - static_cast<int64_t>(tail_.size()); }
  void fill(int64_t place, std::span<std::byte> bytes);

  const std::shared_ptr<const storage::Source> source_;
  std::vector<std::byte> tail_;  // the footer, and what comes with it
  std::unique_ptr<storage::ReadAhead> ahead_;
  std::exception_ptr error_;
  int64_t place_ = 0;
  bool closed_ = false;
};

}  // namespace linac::data
