#pragma once
// The layout of a packed table (packed_table.h) and the making of one:
//
//   values   float32, an even number: events one after the other, in each the columns one after the other
//   index    uint64 ends of the events in values, uint64 XXH3 of each event's values, uint32 rows (events, columns)
//   notes    JSON: what was packed (pack_key), the file's report, how its columns are stored
//   trailer  PackTrailer
//
// The trailer comes last, so a file that was cut has none; its hash covers index and notes.

#include <array>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <span>
#include <string>
#include <vector>

#include "linac/data/table_reader.h"
#include "linac/data/transform/transform.h"
#include "linac/storage/source.h"

namespace linac::data {

struct PackTrailer {
  uint64_t values = 0, events = 0, columns = 0;
  uint64_t notes_bytes = 0;
  std::array<char, 32> hash{};  // of index and notes, hexadecimal
  std::array<char, 16> signature{};
};

inline constexpr std::array<char, 16> kPackSignature = {'l', 'i', 'n', 'a', 'c', ' ',  't',  'a',
                                                        'b', 'l', 'e', ' ', '1', '\n', '\0', '\0'};

inline constexpr uint64_t pack_index_bytes(uint64_t events, uint64_t columns) {
  return events * (2 * sizeof(uint64_t) + columns * sizeof(uint32_t));
}

/// Of values, which are an even number in the file.
inline constexpr uint64_t pack_values_bytes(uint64_t values) {
  return (values + values % 2) * sizeof(float);
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
