#include "linac/io/data/formats/table.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>

#include "linac/base/base/error.h"
#include "linac/io/data/formats/batches/batch_reader.h"
#include "linac/io/data/formats/hdf5_showers.h"
#include "linac/io/data/formats/inflated_stream.h"
#include "linac/io/data/formats/parquet_file.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/formats/tfrecord_showers.h"
#include "linac/io/data/verify/findings.h"

namespace linac::data {
namespace {

// The last line is that of what has no signature.
constexpr std::array kFormats{
    Format{.name = "hdf5",
           .words = "HDF5",
           .signature = std::string_view("\x89HDF\r\n\x1a\n", 8),
           .access = Access::kFile,
           .open = open_hdf5_table,
           .contents = hdf5_contents,
           .batches = open_hdf5_batches,
           .check = check_hdf5,
           .showers = open_hdf5_showers,
           .event_shape = hdf5_event_shape},
    Format{.name = "parquet",
           .words = "Parquet",
           .signature = "PAR1",
           .access = Access::kColumns,
           .open = open_parquet_table,
           .contents = parquet_contents,
           .batches = open_parquet_batches,
           .check = check_parquet,
           .column_bytes = parquet_column_bytes},
    Format{.name = "arrow",
           .words = "Arrow",
           .signature = std::string_view("ARROW1\0\0", 8),
           .access = Access::kFile,
           .open = open_arrow_table,
           .contents = arrow_contents,
           .batches = open_arrow_batches,
           .check = check_arrow},
    Format{.name = "root",
           .words = "ROOT",
           .signature = "root",
           .access = Access::kColumns,
           .open = open_root_table,
           .contents = root_contents,
           .batches = open_root_batches,
           .check = check_root},
    Format{.name = "tfrecord",
           .words = "TFRecord",
           .signature = "",
           .access = Access::kStream,
           .open = open_tfrecord_table,
           .contents = tfrecord_contents,
           .batches = open_tfrecord_batches,
           .check = check_tfrecord,
           .showers = open_tfrecord_showers},
};

}  // namespace

std::span<const Format> formats() {
  return kFormats;
}

const Format& format_of(const storage::Source& source) {
  const std::string& start = source.head();
  if (start.empty())
    throw data_error(
        fmt::format("[data] {}: the file is empty; copy or write it again, or leave it out: so is a "
                    "TFRecord file without events",
                    source.url()));
  return *std::ranges::find_if(kFormats, [&](const Format& format) { return start.starts_with(format.signature); });
}

std::string formats_of_showers() {
  std::vector<const char*> words;
  for (const Format& format : kFormats)
    if (format.showers != nullptr) words.push_back(format.words);
  return fmt::format("{}", fmt::join(words, " and "));
}

SourcePtr readable_source(SourcePtr source) {
  if (!source->is_ranged() || format_of(*source).access != Access::kFile) return source;
  return storage::Source::of_file(source->local(), source->url());
}

std::string describe_reading(const storage::Source& source) {
  const Access access = format_of(source).access;
  const bool remote = source.is_remote();
  const bool unpacked = access == Access::kStream && compression_of(source) != Compression::kNone;
  const std::string how = unpacked ? ", unpacked on the way" : "";
  if (remote && !source.is_ranged())
    return "from a copy of the whole file in the cache (the server names no version, or sends no parts)" + how;
  switch (access) {
    case Access::kFile:
      return remote ? "from a copy of the whole file in the cache" : "in place";
    case Access::kColumns:
      return remote ? "in ranges, the wanted columns only" : "the wanted columns only";
    case Access::kStream:
      break;
  }
  return (remote ? "as a stream" : "in one pass") + how;
}

}  // namespace linac::data
