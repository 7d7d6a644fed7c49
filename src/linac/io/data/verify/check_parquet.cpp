// Each column of each row group is decoded, page by page, with the checksums of the pages where they are.

#include <array>

#include "linac/base/base/plural.h"
#include "linac/io/data/formats/parquet_file.h"
#include "linac/io/data/verify/findings.h"

namespace linac::data {
namespace {

constexpr int64_t kBlockEvents = 1024;
constexpr int64_t kBufferBytes = int64_t{4} << 20;

/// Whether a page's header has a CRC: its fourth field, behind three numbers. Thrift's compact protocol: a field is a
/// byte with its distance from the one before and its type, then a number of up to five bytes whose last one is below
/// 128 (apache/thrift doc/specs/thrift-compact-protocol.md; parquet.thrift, PageHeader).
bool has_page_checksum(std::span<const std::byte> header) {
  constexpr std::byte kNextNumber{0x15};
  size_t at = 0;
  for (int field = 0; field < 3; ++field) {
    if (at >= header.size() || header[at++] != kNextNumber) return false;
    while (at < header.size() && header[at] >= std::byte{0x80}) ++at;
    ++at;
  }
  return at < header.size() && header[at] == kNextNumber;
}

class ParquetCheck {
 public:
  ParquetCheck(const SourcePtr& source, Findings& findings)
      : source_(source),
        findings_(findings),
        file_(source, {.block_events = kBlockEvents, .buffer_bytes = kBufferBytes}) {}

  void run() {
    const parquet::FileMetaData& metadata = file_.metadata();
    for (int group = 0; group < metadata.num_row_groups(); ++group) {
      for (int column = 0; column < metadata.num_columns(); ++column) check_column(group, column);
      first_ += metadata.RowGroup(group)->num_rows();
    }
    if (first_ != metadata.num_rows())
      findings_.damaged("the footer",
                        fmt::format("says {} events, its row groups hold {}", metadata.num_rows(), first_));
    const std::string values = fmt::format("all values of {}", plural(metadata.num_rows(), "event"));
    if (with_checksum_ == 0)
      findings_.checked(values + " (its pages have no checksums)", false);
    else
      findings_.checked(fmt::format("CRC-32 of its pages, {}", values), true);
  }

 private:
  void check_column(int group, int column) {
    const auto& descriptor = *file_.metadata().schema()->Column(column);
    const int64_t events = file_.metadata().RowGroup(group)->num_rows();
    const std::string where = fmt::format("column '{}', row group {}, ", descriptor.path()->ToDotString(), group);
    const auto chunk = chunk_of(group, column);
    if (!chunk) {
      findings_.damaged(where + events_in_words(first_, events),
                        "is encrypted, and linac reads no encrypted columns; write the file again without");
      return;
    }
    int64_t done = 0;
    try {
      file_.guarded(first_, [&] {
        note_checksum(chunk->data_page_offset());
        const auto batches = file_.value(file_.reader().GetRecordBatchReader({group}, {column}), first_);
        std::shared_ptr<arrow::RecordBatch> batch;
        do {
          file_.need(batches->ReadNext(&batch), first_ + done);
          if (batch) file_.need(batch->ValidateFull(), first_ + done);
          if (batch) done += batch->num_rows();
          findings_.read(0);
        } while (batch);
      });
      if (done != events) file_.fail(fmt::format("it ends at event {} of {}", first_ + done, first_ + events));
    } catch (const Error& error) {
      if (error.code() != ErrorCode::kData) throw;
      findings_.damaged(where + events_in_words(first_ + done, std::max<int64_t>(1, events - done)), error.what());
    }
    findings_.read(chunk->total_compressed_size());
  }

  /// Null for an encrypted one.
  std::unique_ptr<parquet::ColumnChunkMetaData> chunk_of(int group, int column) const {
    try {
      return file_.metadata().RowGroup(group)->ColumnChunk(column);
    } catch (const parquet::ParquetException& error) {
      if (std::string_view(error.what()).find("decrypt") != std::string_view::npos) return nullptr;
      file_.fail(error.what());
    }
  }

  void note_checksum(int64_t offset) {
    std::array<std::byte, 64> header{};
    if (offset < 0 || offset >= source_->size()) return;
    const auto bytes = std::span(header).first(
        static_cast<size_t>(std::min<int64_t>(static_cast<int64_t>(header.size()), source_->size() - offset)));
    if (with_checksum_ == 0 && !looked_) source_->read(offset, bytes);
    if (!looked_ && has_page_checksum(bytes)) ++with_checksum_;
    looked_ = true;
  }

  const SourcePtr source_;
  Findings& findings_;
  ParquetFile file_;
  int64_t first_ = 0;  // event of the row group
  int64_t with_checksum_ = 0;
  bool looked_ = false;
};

}  // namespace

void check_parquet(const SourcePtr& source, Findings& findings) {
  ParquetCheck(source, findings).run();
}

}  // namespace linac::data
