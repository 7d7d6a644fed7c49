#pragma once
// Elements of one column of an RNTuple, page by page: numbers, or the ends of lists. Not thread-safe.

#include <optional>
#include <span>
#include <vector>

#include "linac/io/root/ntuple_schema.h"
#include "linac/io/root/numbers.h"

namespace linac::root {

/// Elements of a page at most: 64 MiB of floats.
inline constexpr uint32_t kPageElementsMax = uint32_t{1} << 24;

/// How a column's elements are stored.
struct Encoding {
  Type type = Type::kFloat;
  bool split = false, zigzag = false, delta = false;
  bool index = false;  // ends of lists
  enum class Bits { kWhole, kBit, kTruncated, kQuantised } bits = Bits::kWhole;
};

/// Nothing for a column that is not read.
std::optional<Encoding> encoding_of(const NtupleColumn& column);

/// The elements of a page as they were before they were packed, in one of the rooms. Data error that begins with
/// `where` for a page that is damaged or does not match its checksum.
std::span<const std::byte> read_page(const File& file, const Page& page, uint32_t bits_each, const std::string& where,
                                     std::vector<std::byte>& stored, std::vector<std::byte>& room);

class ColumnElements {
 public:
  /// `where` begins messages. All of them outlive it.
  ColumnElements(const File& file, const Ntuple& ntuple, uint32_t column, std::string where);

  /// Appends elements of a cluster as floats. Data error unless the cluster has them.
  void values(size_t cluster, uint64_t first, uint64_t count, std::vector<float>& out);
  /// The same as they are stored: of the encoding's type, little-endian, a bit as a byte.
  void stored(size_t cluster, uint64_t first, uint64_t count, std::vector<std::byte>& out);
  /// Appends the ends of lists.
  void ends(size_t cluster, uint64_t first, uint64_t count, std::vector<uint64_t>& out);
  /// Appends the bytes of characters.
  void characters(size_t cluster, uint64_t first, uint64_t count, std::string& out);

 private:
  template <class Take>
  void walk(size_t cluster, uint64_t first, uint64_t count, Take&& take);
  void load(size_t cluster, size_t page);
  void decode(size_t cluster, const Page& page);
  void undo_steps(size_t bytes);
  void bits(const Page& page, std::span<const std::byte> packed);
  [[noreturn]] void fail(size_t cluster, const std::string& what) const;

  const File& file_;
  const Ntuple& ntuple_;
  uint32_t column_;
  Encoding encoding_;
  std::string where_;
  size_t cluster_ = SIZE_MAX, page_ = 0;  // that is loaded
  uint64_t page_first_ = 0;               // its first element in the cluster
  std::vector<std::byte> stored_, room_, joined_;
  std::span<const std::byte> elements_;  // whole ones, little-endian, in one of these
  std::vector<float> floats_;            // of bit columns
};

}  // namespace linac::root
