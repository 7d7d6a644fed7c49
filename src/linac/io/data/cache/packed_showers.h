#pragma once
// Showers of a TFRecord file as the cache keeps them: of each the cells that are not zero, as they were, and where they
// lie. A shower fills few of its cells, so what is written and read again is small. The layout, little-endian:
//
//   head     PackedShowersHead
//   showers  one after the other: energy, angle, ecal (float32), uint32 how many cells are filled, a bit for each cell
//            in words of 64, the filled cells (float32, an even number of them)
//   index    uint64 ends of the showers in the file, uint64 XXH3 of each shower
//   notes    JSON: shape of the showers, content and bytes of the file that was packed
//   trailer  PackedShowersTrailer
//
// The trailer comes last, so a file that was cut has none; its hash covers index and notes.

#include <array>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "linac/io/data/formats/shower_file.h"
#include "linac/io/data/formats/shower_record.h"

namespace linac::data {

using PackedShowersHead = std::array<char, 16>;
// As the length of a TFRecord file's first record it is far more than a file can have.
inline constexpr PackedShowersHead kPackedShowersSignature = {'l', 'i', 'n', 'a', 'c', ' ', 's',  'h',
                                                              'o', 'w', 'e', 'r', 's', '1', '\n', '\0'};

struct PackedShowersTrailer {
  uint64_t showers = 0, notes_bytes = 0;
  std::array<char, 32> hash{};  // of index and notes, hexadecimal
  PackedShowersHead signature{};
};

/// Makes such a file, in order. One thread.
class ShowerPacker {
 public:
  using Write = std::function<void(std::span<const std::byte>)>;
  /// `write` takes the file's bytes; what it throws passes.
  explicit ShowerPacker(Write write);

  /// All are of one shape.
  void add(const RecordedShower& shower);
  int64_t showers() const { return static_cast<int64_t>(ends_.size()); }
  /// Of the first one.
  const EventShape& shape() const { return shape_; }
  /// The end of the file. `original`: what it was made from.
  void finish(const OriginalFile& original);

 private:
  void write(std::span<const std::byte> bytes);

  const Write write_;
  EventShape shape_;
  uint64_t written_ = 0;
  std::vector<std::byte> room_;
  std::vector<uint64_t> ends_, hashes_;
};

/// Whether the file lies in the cache and begins as a packed one; environment error.
bool is_packed_showers(const std::filesystem::path& path);

/// Packs the original once more; where the result lies.
using PackAgain = std::function<std::filesystem::path()>;

/// `name`: of the file that was packed. A file that is damaged, which shows here or when an event is read, is removed
/// and made anew, once; without `again`, or damaged again: environment error. Data error if the original is another by
/// then.
std::unique_ptr<const ShowerFile> open_packed_showers(const std::filesystem::path& path, const std::string& name,
                                                      PackAgain again = {});

}  // namespace linac::data
