#include "linac/io/data/formats/arrow_source.h"

#include <arrow/buffer.h>
#include <arrow/memory_pool.h>
#include <arrow/result.h>

#include <algorithm>
#include <cstring>
#include <tuple>

namespace linac::data {
namespace {

// As many bytes as Parquet's reader asks for first, from the end of a file.
constexpr int64_t kTailBytes = int64_t{64} << 10;
constexpr int64_t kPieceBytesLeast = int64_t{64} << 10;
constexpr int64_t kPartsMax = int64_t{1} << 20;  // more are nobody's file, and read as they are asked for

/// Where a column of a row group lies.
storage::Piece piece_of(const parquet::ColumnChunkMetaData& column) {
  int64_t begin = column.data_page_offset();
  if (column.has_dictionary_page() && column.dictionary_page_offset() > 0)
    begin = std::min(begin, column.dictionary_page_offset());
  return {begin, column.total_compressed_size()};
}

}  // namespace

RangedFile::RangedFile(std::shared_ptr<const storage::Source> source) : source_(std::move(source)) {
  tail_.resize(static_cast<size_t>(std::min(kTailBytes, source_->size())));
  source_->read(tail_begin(), tail_);
}

void RangedFile::read_ahead(const parquet::FileMetaData& metadata, const std::vector<int>& groups,
                            const std::vector<int>& columns) {
  if (columns.empty()) return;
  // The columns of a group advance together: a part of each, then the next part.
  const int64_t part = std::clamp(storage::kAheadHeldBytes / (4 * static_cast<int64_t>(columns.size())),
                                  kPieceBytesLeast, storage::kAheadRequestBytes);
  struct Part {
    int group;
    double progress;
    storage::Piece piece;
  };
  std::vector<Part> parts;
  for (const int group : groups) {
    const auto row_group = metadata.RowGroup(group);
    for (const int column : columns) {
      const storage::Piece whole = piece_of(*row_group->ColumnChunk(column));
      // Numbers that cannot be are for the reader to refuse; what came with the footer is here.
      if (whole.offset < 0 || whole.bytes <= 0 || whole.offset >= tail_begin() ||
          whole.bytes > source_->size() - whole.offset)
        continue;
      const int64_t bytes = std::min(whole.bytes, tail_begin() - whole.offset);
      if (static_cast<int64_t>(parts.size()) + bytes / part >= kPartsMax) return;
      for (int64_t done = 0; done < bytes; done += part)
        parts.push_back({group,
                         static_cast<double>(done) / static_cast<double>(whole.bytes),
                         {whole.offset + done, std::min(part, bytes - done)}});
    }
  }
  std::sort(parts.begin(), parts.end(), [](const Part& a, const Part& b) {
    return std::tie(a.group, a.progress, a.piece.offset) < std::tie(b.group, b.progress, b.piece.offset);
  });
  // Ranges that overlap are a damaged file's: read as they are asked for.
  std::vector<storage::Piece> pieces;
  for (const Part& one : parts) pieces.push_back(one.piece);
  std::vector<storage::Piece> sorted = pieces;
  std::sort(sorted.begin(), sorted.end(), [](const auto& a, const auto& b) { return a.offset < b.offset; });
  for (size_t i = 1; i < sorted.size(); ++i)
    if (sorted[i - 1].offset + sorted[i - 1].bytes > sorted[i].offset) return;
  ahead_ = std::make_unique<storage::ReadAhead>(source_, pieces);
}

void RangedFile::rethrow() const {
  if (error_) std::rethrow_exception(error_);
}

arrow::Status RangedFile::Close() {
  closed_ = true;
  return arrow::Status::OK();
}

arrow::Status RangedFile::Seek(int64_t place) {
  if (place < 0) return arrow::Status::IOError("a place before the file");
  place_ = place;
  return arrow::Status::OK();
}

arrow::Result<int64_t> RangedFile::Read(int64_t bytes, void* out) {
  ARROW_ASSIGN_OR_RAISE(const int64_t got, ReadAt(place_, bytes, out));
  place_ += got;
  return got;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> RangedFile::Read(int64_t bytes) {
  ARROW_ASSIGN_OR_RAISE(auto got, ReadAt(place_, bytes));
  place_ += got->size();
  return got;
}

arrow::Result<int64_t> RangedFile::ReadAt(int64_t place, int64_t bytes, void* out) {
  if (place < 0 || bytes < 0) return arrow::Status::IOError("a place before the file");
  const int64_t left = std::max<int64_t>(0, source_->size() - place);
  bytes = std::min(bytes, left);
  try {
    fill(place, {static_cast<std::byte*>(out), static_cast<size_t>(bytes)});
  } catch (const std::exception& error) {
    error_ = std::current_exception();
    return arrow::Status::IOError(error.what());
  }
  return bytes;
}

arrow::Result<std::shared_ptr<arrow::Buffer>> RangedFile::ReadAt(int64_t place, int64_t bytes) {
  if (place < 0 || bytes < 0) return arrow::Status::IOError("a place before the file");
  const int64_t size = std::min(bytes, std::max<int64_t>(0, source_->size() - place));
  ARROW_ASSIGN_OR_RAISE(auto buffer, arrow::AllocateResizableBuffer(size, arrow::system_memory_pool()));
  ARROW_RETURN_NOT_OK(ReadAt(place, size, buffer->mutable_data()).status());
  return std::shared_ptr<arrow::Buffer>(std::move(buffer));
}

void RangedFile::fill(int64_t place, std::span<std::byte> bytes) {
  const int64_t before = std::clamp<int64_t>(tail_begin() - place, 0, static_cast<int64_t>(bytes.size()));
  const auto first = bytes.first(static_cast<size_t>(before));
  if (ahead_)
    ahead_->read(place, first);
  else
    source_->read(place, first);
  const auto rest = bytes.subspan(first.size());
  if (!rest.empty()) std::memcpy(rest.data(), tail_.data() + (place + before - tail_begin()), rest.size());
}

}  // namespace linac::data
