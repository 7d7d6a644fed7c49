#include "linac/io/data/formats/file_format.h"

#include <fmt/format.h>

#include <string_view>

#include "linac/base/base/error.h"
#include "linac/base/base/tfrecord_frame.h"

namespace linac::data {
namespace {

constexpr std::string_view kHdf5Signature("\x89HDF\r\n\x1a\n", 8);
constexpr std::string_view kRootSignature("root", 4);
constexpr std::string_view kParquetSignature("PAR1", 4);

/// A sound header of a record says more than two bytes of another format.
bool begins_a_record(const std::string& start) {
  if (start.size() < kTfrecordHeaderBytes) return false;
  try {
    tfrecord_length(std::as_bytes(std::span(start)).first(kTfrecordHeaderBytes));
    return true;
  } catch (const Error&) {
    return false;
  }
}

// RFC 1952: two bytes of identification, the method "deflate".
bool begins_gzip(const std::string& start) {
  return start.starts_with(std::string_view("\x1f\x8b\x08", 3));
}

// RFC 1950: the method "deflate" with a window of at most 32 KiB; both bytes are a multiple of 31; no dictionary.
bool begins_zlib(const std::string& start) {
  if (start.size() < 2) return false;
  const auto method = static_cast<unsigned char>(start[0]), flags = static_cast<unsigned char>(start[1]);
  return (method & 0x0f) == 8 && method >> 4 <= 7 && (method * 256 + flags) % 31 == 0 && (flags & 0x20) == 0;
}

}  // namespace

const char* to_string(FileFormat format) {
  switch (format) {
    case FileFormat::kHdf5:
      return "hdf5";
    case FileFormat::kParquet:
      return "parquet";
    case FileFormat::kRoot:
      return "root";
    case FileFormat::kTfrecord:
      return "tfrecord";
  }
  return "";
}

FileFormat format_of(const storage::Source& source) {
  const std::string& start = source.head();
  if (start.empty())
    throw data_error(fmt::format("[data] {}: the file is empty; copy or write it again", source.url()));
  if (start.starts_with(kHdf5Signature)) return FileFormat::kHdf5;
  if (start.starts_with(kParquetSignature)) return FileFormat::kParquet;
  if (start.starts_with(kRootSignature)) return FileFormat::kRoot;
  return FileFormat::kTfrecord;
}

FileFormat format_of(const std::filesystem::path& path, const std::string& name) {
  return format_of(*storage::Source::of_file(path, name));
}

std::shared_ptr<const storage::Source> readable_source(std::shared_ptr<const storage::Source> source) {
  if (!source->is_ranged() || format_of(*source) != FileFormat::kHdf5) return source;
  return storage::Source::of_file(source->local(), source->url());
}

Compression compression_of(const storage::Source& source) {
  const std::string& start = source.head();
  if (begins_a_record(start)) return Compression::kNone;
  if (begins_gzip(start)) return Compression::kGzip;
  return begins_zlib(start) ? Compression::kZlib : Compression::kNone;
}

std::string describe_reading(const storage::Source& source) {
  const FileFormat format = format_of(source);
  const bool remote = storage::is_remote(source.url());
  const bool unpacked = format == FileFormat::kTfrecord && compression_of(source) != Compression::kNone;
  const std::string how = unpacked ? ", unpacked on the way" : "";
  if (remote && !source.is_ranged())
    return "from a copy of the whole file in the cache (the server names no version, or sends no parts)" + how;
  if (remote && format == FileFormat::kHdf5) return "from a copy of the whole file in the cache";
  if (format == FileFormat::kParquet || format == FileFormat::kRoot)
    return remote ? "in ranges, the wanted columns only" : "the wanted columns only";
  if (format == FileFormat::kTfrecord) return (remote ? "as a stream" : "in one pass") + how;
  return "in place";
}

}  // namespace linac::data
