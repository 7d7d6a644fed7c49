#pragma once
// Which format an event file has, by its first bytes. Its name does not matter.

#include <filesystem>
#include <memory>
#include <string>

#include "linac/io/storage/source.h"

namespace linac::data {

enum class FileFormat { kHdf5, kParquet, kRoot, kTfrecord };

/// "hdf5", "parquet", "root" or "tfrecord".
const char* to_string(FileFormat format);

/// How a file is packed as a whole.
enum class Compression { kNone, kGzip, kZlib };

/// What has no signature counts as TFRecord, whose reader checks its checksums; so does what is compressed as a whole.
/// Data error naming the file where it is empty; errors of the Source.
FileFormat format_of(const storage::Source& source);
/// The same of a file of this host, which messages call `name`.
FileFormat format_of(const std::filesystem::path& path, const std::string& name);

/// The same source, or a copy of this host where the reader of its format needs a file (HDF5).
std::shared_ptr<const storage::Source> readable_source(std::shared_ptr<const storage::Source> source);

/// Of a TFRecord file, as TensorFlow writes them. By the content: a first record that is sound is not compressed.
Compression compression_of(const storage::Source& source);

/// How the file is read, for people: "in ranges, the wanted columns only", "from a copy of the whole file in the
/// cache".
std::string describe_reading(const storage::Source& source);

}  // namespace linac::data
