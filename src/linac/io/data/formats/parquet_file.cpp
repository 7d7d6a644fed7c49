#include "linac/io/data/formats/parquet_file.h"

#include <arrow/io/file.h>
#include <fmt/format.h>

namespace linac::data {

void add_leaves(const parquet::arrow::SchemaField& field, std::vector<int>& leaves) {
  if (field.is_leaf()) leaves.push_back(field.column_index);
  for (const auto& child : field.children) add_leaves(child, leaves);
}

ParquetFile::ParquetFile(const std::shared_ptr<const storage::Source>& source, const Options& options)
    : name_(source->url()) {
  guarded(0, [&] {
    arrow::MemoryPool* const pool = arrow::system_memory_pool();
    // Without the stream a whole row group would be in memory at once.
    parquet::ReaderProperties properties(pool);
    properties.enable_buffered_stream();
    properties.set_buffer_size(options.buffer_bytes);
    properties.set_page_checksum_verification(true);
    parquet::ArrowReaderProperties arrow_properties(false);
    arrow_properties.set_batch_size(options.block_events);
    arrow_properties.set_pre_buffer(false);
    parquet::arrow::FileReaderBuilder builder;
    std::shared_ptr<arrow::io::RandomAccessFile> bytes;
    if (source->is_ranged())
      bytes = ranged_ = std::make_shared<RangedFile>(source);
    else
      bytes = value(arrow::io::ReadableFile::Open(source->path()->string(), pool), 0);
    need(builder.Open(bytes, properties), 0);
    file_ = value(builder.memory_pool(pool)->properties(arrow_properties)->Build(), 0);
  });
}

void ParquetFile::fail(const std::string& what) const {
  throw data_error(fmt::format("[parquet] {}: {}", name_, what));
}

void ParquetFile::need(const arrow::Status& status, int64_t near_event) const {
  if (status.ok()) return;
  if (ranged_) ranged_->rethrow();
  fail(fmt::format("cannot be read near event {} ({}); copy or write the file again", near_event, status.message()));
}

}  // namespace linac::data
