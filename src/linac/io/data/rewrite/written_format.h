#pragma once
// The formats in which a conversion writes tables. Pure, thread-safe.

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace linac::data {

enum class WrittenFormat { kParquet, kTfrecord, kTfrecordGzip, kHdf5 };

/// "parquet", "tfrecord", "tfrecord.gz", "hdf5": what a user names it.
const char* to_string(WrittenFormat format);
std::vector<std::string> written_formats();
std::optional<WrittenFormat> written_format_named(std::string_view name);

/// "Parquet", ... for messages.
const char* words_of(WrittenFormat format);
/// Of a file's name: ".parquet", ".tfrecord", ".tfrecord.gz" or ".h5".
const char* ending_of(WrittenFormat format);

/// What a file's name ends with, and the format of that name.
struct WrittenEnding {
  WrittenFormat format;
  std::string_view ending;  // of a constant
};
/// ".hdf5" and ".tfrecords" count as well. Nothing for another name.
std::optional<WrittenEnding> written_ending_of(std::string_view name);

}  // namespace linac::data
