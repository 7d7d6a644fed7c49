#include "linac/io/data/rewrite/written_format.h"

#include <algorithm>
#include <array>

#include "linac/io/data/formats/batches/batch_writer.h"
#include "linac/io/data/formats/table.h"

namespace linac::data {
namespace {

struct Row {
  WrittenFormat format;
  const char* name;
  std::string_view read_as;  // its name in the table of formats
  const char* ending;
  const char* other_ending;  // that is read as this one
  std::unique_ptr<BatchWriter> (*open)(const std::filesystem::path& path, const std::shared_ptr<arrow::Schema>& schema);
};

constexpr std::array kRows{
    Row{WrittenFormat::kParquet, "parquet", "parquet", ".parquet", nullptr, open_parquet_writer},
    Row{WrittenFormat::kTfrecord, "tfrecord", "tfrecord", ".tfrecord", ".tfrecords", open_tfrecord_writer},
    Row{WrittenFormat::kTfrecordGzip, "tfrecord.gz", "tfrecord", ".tfrecord.gz", ".tfrecords.gz",
        open_tfrecord_gzip_writer},
    Row{WrittenFormat::kHdf5, "hdf5", "hdf5", ".h5", ".hdf5", open_hdf5_writer},
};

const Row& row_of(WrittenFormat format) {
  return *std::ranges::find(kRows, format, &Row::format);
}

}  // namespace

const char* to_string(WrittenFormat format) {
  return row_of(format).name;
}

const char* words_of(WrittenFormat format) {
  return std::ranges::find(formats(), row_of(format).read_as, &Format::name)->words;
}

const char* ending_of(WrittenFormat format) {
  return row_of(format).ending;
}

std::unique_ptr<BatchWriter> open_batch_writer(WrittenFormat format, const std::filesystem::path& path,
                                               const std::shared_ptr<arrow::Schema>& schema) {
  return row_of(format).open(path, schema);
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
