#pragma once
// The layout of a packed table (packed_table.h) and the making of one:
//
//   values   float32: events one after the other, in each the columns one after the other
//   index    for each event a PackEntry and uint32 rows of its columns, together: who reads one event, anywhere in the
//            file, waits for one place of memory
//   notes    JSON: what was packed (pack_key), the file's report, how its columns are stored
//   trailer  PackTrailer
//
// The trailer comes last, so a file that was cut has none; its hash covers index and notes.

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/formats/table_reader.h"
#include "linac/io/data/transform/transform.h"
#include "linac/io/storage/source.h"

namespace linac::data {

struct PackTrailer {
  uint64_t values = 0, events = 0, columns = 0;
  uint64_t notes_bytes = 0;
  std::array<char, 32> hash{};  // of index and notes, hexadecimal
  std::array<char, 16> signature{};
};

inline constexpr std::array<char, 16> kPackSignature = {'l', 'i', 'n', 'a', 'c', ' ',  't',  'a',
                                                        'b', 'l', 'e', ' ', '2', '\n', '\0', '\0'};

struct PackEntry {
  uint64_t first;   // place of the event's values
  uint64_t hash;    // XXH3 of them
  uint32_t values;  // how many they are
};
inline constexpr uint64_t kPackRowsOffset = 2 * sizeof(uint64_t) + sizeof(uint32_t);  // behind the entry's members
/// Of an entry with its rows, which fill whole uint64.
inline constexpr uint64_t pack_entry_bytes(uint64_t columns) {
  return (kPackRowsOffset + columns * sizeof(uint32_t) + sizeof(uint64_t) - 1) / sizeof(uint64_t) * sizeof(uint64_t);
}

inline PackEntry read_entry(const std::byte* at) {
  PackEntry entry;
  std::memcpy(&entry, at, kPackRowsOffset);
  return entry;
}

/// Of values, which fill whole lines of a processor's cache in the file: the index begins with one.
inline constexpr uint64_t pack_values_bytes(uint64_t values) {
  constexpr uint64_t kLine = 64;
  return (values * sizeof(float) + kLine - 1) / kLine * kLine;
}
/// Whether it is the trailer of a packed file of so many bytes, which its parts fill.
bool adds_up(const PackTrailer& trailer, uint64_t file_bytes);

/// What tells a packed file from others: the original and its version, the columns as far as they decide what is
/// stored, and what is made of them. Of a file of this host: path, size and time of change; of another one: address,
/// size and what its server names the version.
nlohmann::json pack_key(const storage::Source& source, const std::vector<WantedColumn>& columns,
                        const Transform& transform);
/// The same whatever the version: one packed file for all of them, the last one stays.
nlohmann::json without_version(nlohmann::json key);
/// Of a file of another host, of which nothing is known but its address.
nlohmann::json remote_pack_key(const std::string& url, const std::vector<WantedColumn>& columns,
                               const Transform& transform);

/// Reads the file once, in blocks of bounded memory, into `packed` (which appears whole or not at all). `key` is
/// remembered in its notes. Data errors as PackedTable::open().
void pack_file(const std::shared_ptr<const storage::Source>& source, const std::vector<WantedColumn>& columns,
               const Transform& transform, const nlohmann::json& key, const std::filesystem::path& packed);

}  // namespace linac::data
