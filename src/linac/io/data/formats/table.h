#pragma once
// The formats of event files, one line each: whoever opens, converts, checks or describes a file of events asks its
// line, and knows no format by name. CONTRIBUTING.md says how one is added. Constant, thread-safe.

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linac/io/storage/source.h"

namespace linac::data {

class BatchReader;
class Findings;
class RecordMarks;
class ShowerFile;
class TableReader;
struct BatchColumns;
struct EventRange;
struct Fields;
struct FileIndex;
struct TableContents;
struct WantedColumn;

using SourcePtr = std::shared_ptr<const storage::Source>;

/// How the bytes of a format are come by.
enum class Access {
  kFile,     // by a library that reads files of this host only
  kColumns,  // those of the wanted columns, range by range
  kStream,   // one record after the other; only reading all tells how many events; perhaps compressed as a whole
};

/// Functions throw data errors naming the file, and the errors of the Source.
struct Format {
  const char* name;            // "hdf5": in reports and notes
  const char* words;           // "HDF5": in messages
  std::string_view signature;  // the first bytes; empty: it has none
  Access access;

  /// Columns as training wants them (table_reader.h).
  std::unique_ptr<TableReader> (*open)(const SourcePtr& source, const std::vector<WantedColumn>& columns);
  /// By the schema, `format` left out.
  TableContents (*contents)(const SourcePtr& source);
  /// Columns as they are stored (batches/batch_reader.h).
  std::unique_ptr<BatchReader> (*batches)(const SourcePtr& source, const BatchColumns& columns, const EventRange& range,
                                          const RecordMarks* marks);
  /// Reads the whole file (verify/findings.h).
  void (*check)(const SourcePtr& source, Findings& findings);

  // What not every format can; null: it cannot.

  /// Events as showers, in any order (shower_file.h).
  std::unique_ptr<const ShowerFile> (*showers)(const std::filesystem::path& path, const std::string& name,
                                               const Fields& fields, const std::optional<FileIndex>& index) = nullptr;
  /// The shape of a column in all events.
  std::vector<int64_t> (*event_shape)(const SourcePtr& source, const std::string& column) = nullptr;
  /// Bytes that the columns take in the file.
  int64_t (*column_bytes)(const SourcePtr& source, const std::vector<std::string>& columns) = nullptr;
};

std::span<const Format> formats();

/// By the first bytes; the name of a file does not matter. What has no signature counts as TFRecord, whose reader
/// checks its checksums; so does what is compressed as a whole. Data error naming the file where it is empty; errors of
/// the Source.
const Format& format_of(const storage::Source& source);

/// "HDF5 and TFRecord": those that hold showers.
std::string formats_of_showers();

/// The same source, or a copy of this host where the reader of its format needs a file.
SourcePtr readable_source(SourcePtr source);

/// How the file is read, for people: "in ranges, the wanted columns only", "from a copy of the whole file in the
/// cache".
std::string describe_reading(const storage::Source& source);

}  // namespace linac::data
