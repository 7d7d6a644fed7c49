#pragma once
// Which format an event file has, by its first bytes. Its name does not matter.

#include <filesystem>
#include <string>

namespace linac::data {

enum class FileFormat { kHdf5, kParquet, kRoot, kTfrecord };

/// "hdf5", "parquet", "root" or "tfrecord".
const char* to_string(FileFormat format);

/// What has no signature counts as TFRecord, whose reader checks its checksums. Data error naming `name` for an empty
/// file and for formats that are known but not read (gzip); environment error if it cannot be opened.
FileFormat format_of(const std::filesystem::path& path, const std::string& name);

}  // namespace linac::data
