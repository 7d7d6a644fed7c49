#include "linac/io/data/rewrite/written_format.h"

#include <algorithm>
#include <array>

namespace linac::data {
namespace {

struct Row {
  WrittenFormat format;
  const char* name;
  const char* words;
  const char* ending;
  const char* other_ending;  // that is read as this one
};

constexpr std::array kRows{
    Row{WrittenFormat::kParquet, "parquet", "Parquet", ".parquet", nullptr},
    Row{WrittenFormat::kTfrecord, "tfrecord", "TFRecord", ".tfrecord", ".tfrecords"},
    Row{WrittenFormat::kTfrecordGzip, "tfrecord.gz", "TFRecord", ".tfrecord.gz", ".tfrecords.gz"},
    Row{WrittenFormat::kHdf5, "hdf5", "HDF5", ".h5", ".hdf5"},
};

const Row& row_of(WrittenFormat format) {
  return *std::ranges::find(kRows, format, &Row::format);
}

}  // namespace

const char* to_string(WrittenFormat format) {
  return row_of(format).name;
}

const char* words_of(WrittenFormat format) {
  return row_of(format).words;
}

const char* ending_of(WrittenFormat format) {
  return row_of(format).ending;
}

std::vector<std::string> written_formats() {
  std::vector<std::string> names;
  for (const Row& row : kRows) names.emplace_back(row.name);
  return names;
}

std::optional<WrittenFormat> written_format_named(std::string_view name) {
  const auto* const found = std::ranges::find(kRows, name, &Row::name);
  return found == kRows.end() ? std::nullopt : std::optional(found->format);
}

std::optional<WrittenEnding> written_ending_of(std::string_view name) {
  for (const Row& row : kRows)
    for (const char* ending : {row.ending, row.other_ending})
      if (ending != nullptr && name.ends_with(ending)) return WrittenEnding{row.format, ending};
  return std::nullopt;
}

}  // namespace linac::data
