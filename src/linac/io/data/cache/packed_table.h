#pragma once
// The wanted columns of one event file, unpacked once into a file of the cache folder that is mapped into memory, so
// that any event is at hand at any time. The packed file holds what the original holds, as float32: padding, cutting
// and scaling come later, so jobs that differ in these share it; what a Transform makes of the columns comes before. It
// belongs to the original's path, size and time of change; of another host's file to its address and version, and is
// made from there without a copy of the original. Immutable and thread-safe; processes that want the same file take
// turns, and all but the first find it done.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <mutex>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/cache/pack_file.h"
#include "linac/io/data/cache/remade.h"
#include "linac/io/data/column_facts.h"
#include "linac/io/data/event_table.h"
#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/transform/transform.h"
#include "linac/io/storage/source.h"

namespace linac::data {

/// Lists of rows (shapes of two axes) are stored without the rows of padding at their end, which are in the formats
/// that know lists of one length only.
inline bool is_padded(const WantedColumn& column) {
  return column.shape.size() == 2;
}

class PackedTable {
 public:
  /// `url`: one of expand()'s results. Maps the packed file, after making it if it is not there, not whole, or of
  /// another version; of a server that cannot be reached, the last one serves, with a warning. Data errors of
  /// table_reader.h, and for values that are not finite; environment error when the cache folder cannot take it.
  static std::shared_ptr<const PackedTable> open(const std::string& url, const std::vector<WantedColumn>& columns,
                                                 const Transform& transform = {});
  ~PackedTable();
  PackedTable(const PackedTable&) = delete;
  PackedTable& operator=(const PackedTable&) = delete;

  const TableFile& file() const { return file_; }
  const std::vector<StoredColumn>& columns() const { return stored_; }
  /// Of column i's values as they are stored, without what pads.
  const ColumnFacts& facts(size_t i) const { return facts_[i]; }
  int64_t events() const { return file_.events; }

  /// Rows of the event's columns.
  std::span<const uint32_t> rows(int64_t event) const {
    return {reinterpret_cast<const uint32_t*>(entry_at(event) + kPackRowsOffset), stored_.size()};
  }
  /// Values of the event's columns, one column after the other. When they are not those that were written (a failing
  /// disk) the file is packed anew, which is told: errors as open(), and data error if the original is another one by
  /// now. Environment error when they are damaged again.
  std::span<const float> values(int64_t event) const;

  /// Hints for the processor, long before values() of the event, which lies anywhere: first where it lies, then itself.
  void expect_place(int64_t event) const;
  void expect_values(int64_t event) const;
  /// The values leave this process's memory, not the system's cache of files: for who reads each event once.
  void let_pages_go() const;

  /// Data error when the original is not the file that was packed any more: a look at size and time of change. What
  /// became of another host's file meanwhile is not asked: the packed one stays as it is.
  void check_unchanged() const;

 private:
  PackedTable() = default;
  /// Null if there is no whole packed file of this key, or of any version of it.
  enum class Match { kKey, kAnyVersion };
  static std::shared_ptr<PackedTable> map(const std::filesystem::path& packed, const nlohmann::json& key,
                                          const std::string& url, Match match = Match::kKey);
  bool map_index(const nlohmann::json& key, Match match);
  const std::byte* entry_at(int64_t event) const { return index_.data() + static_cast<size_t>(event) * entry_bytes_; }
  PackEntry entry(int64_t event) const;
  /// XXH3 of the hashes of all events, hexadecimal.
  std::string hash_of_hashes() const;
  static std::shared_ptr<PackedTable> open_once(const std::string& url, const std::vector<WantedColumn>& columns,
                                                const Transform& transform);
  static std::shared_ptr<PackedTable> of_source(const std::shared_ptr<const storage::Source>& source,
                                                const std::vector<WantedColumn>& columns, const Transform& transform);

  std::shared_ptr<const PackedTable> anew(int64_t event) const;
  [[noreturn]] void refuse_changed() const;

  std::optional<std::filesystem::path> path_;  // of the original, if it is a file of this host
  bool is_fetched_ = false;                    // to there, from another one: the cache may let it go after this table
  std::filesystem::path packed_path_;
  bool in_use_ = false;  // as the cache knows it
  mutable std::mutex state_mutex_;
  mutable storage::Fingerprint state_;
  TableFile file_;
  std::vector<StoredColumn> stored_;
  std::vector<ColumnFacts> facts_;
  std::span<const std::byte> mapped_;
  std::span<const float> values_;
  std::span<const std::byte> index_;  // an entry (pack_file.h) an event
  size_t entry_bytes_ = 0;
  uint64_t file_number_ = 0;                                        // of the packed file
  std::function<std::shared_ptr<const PackedTable>()> open_again_;  // null: this one is made anew
  mutable Remade<PackedTable> remade_;
};

}  // namespace linac::data
