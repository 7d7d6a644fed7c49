#include "linac/io/root/ntuple_pages.h"

#include <xxhash.h>

#include <algorithm>

#include "linac/io/root/blocks.h"

namespace linac::root {
namespace {

using Bits = Encoding::Bits;

struct Row {
  uint16_t type;
  uint16_t bits;  // 0: see below
  Encoding encoding;
};

constexpr Encoding plain(Type type) {
  return {.type = type};
}
constexpr Encoding split(Type type, bool zigzag = false) {
  return {.type = type, .split = true, .zigzag = zigzag};
}
constexpr Encoding index(Type type, bool split) {
  return {.type = type, .split = split, .delta = split, .index = true};
}

constexpr Row kColumns[] = {{0x00, 1, {.type = Type::kBool, .bits = Bits::kBit}},
                            {0x01, 8, plain(Type::kUint8)},
                            {0x02, 8, plain(Type::kInt8)},
                            {0x03, 8, plain(Type::kInt8)},
                            {0x04, 8, plain(Type::kUint8)},
                            {0x05, 16, plain(Type::kInt16)},
                            {0x06, 16, plain(Type::kUint16)},
                            {0x07, 32, plain(Type::kInt32)},
                            {0x08, 32, plain(Type::kUint32)},
                            {0x09, 64, plain(Type::kInt64)},
                            {0x0A, 64, plain(Type::kUint64)},
                            {0x0B, 16, plain(Type::kFloat16)},
                            {0x0C, 32, plain(Type::kFloat)},
                            {0x0D, 64, plain(Type::kDouble)},
                            {0x0E, 32, index(Type::kUint32, false)},
                            {0x0F, 64, index(Type::kUint64, false)},
                            {0x11, 16, split(Type::kInt16, true)},
                            {0x12, 16, split(Type::kUint16)},
                            {0x13, 32, split(Type::kInt32, true)},
                            {0x14, 32, split(Type::kUint32)},
                            {0x15, 64, split(Type::kInt64, true)},
                            {0x16, 64, split(Type::kUint64)},
                            {0x17, 16, split(Type::kFloat16)},
                            {0x18, 32, split(Type::kFloat)},
                            {0x19, 64, split(Type::kDouble)},
                            {0x1A, 32, index(Type::kUint32, true)},
                            {0x1B, 64, index(Type::kUint64, true)},
                            {0x1C, 0, {.type = Type::kFloat, .bits = Bits::kTruncated}},
                            {0x1D, 0, {.type = Type::kFloat, .bits = Bits::kQuantised}}};

/// Applies `change` to each element in place.
template <class U, class F>
void change_each(std::vector<std::byte>& elements, F&& change) {
  for (size_t at = 0; at + sizeof(U) <= elements.size(); at += sizeof(U)) {
    U value;
    std::memcpy(&value, elements.data() + at, sizeof value);
    value = change(value);
    std::memcpy(elements.data() + at, &value, sizeof value);
  }
}

template <class U>
void undo(std::vector<std::byte>& elements, const Encoding& encoding) {
  if (encoding.zigzag) {
    change_each<U>(elements, [](U value) { return static_cast<U>((value >> 1) ^ (U{0} - (value & 1))); });
  }
  if (encoding.delta) {
    U sum = 0;
    change_each<U>(elements, [&sum](U value) { return sum = static_cast<U>(sum + value); });
  }
}

}  // namespace

std::optional<Encoding> encoding_of(const NtupleColumn& column) {
  for (const Row& row : kColumns) {
    if (row.type != column.type) continue;
    const bool fits = row.bits != 0                           ? row.bits == column.bits
                      : row.encoding.bits == Bits::kTruncated ? column.bits >= 10 && column.bits <= 31
                                                              : column.bits >= 1 && column.bits <= 32;
    if (fits) return row.encoding;
  }
  return std::nullopt;
}

ColumnElements::ColumnElements(const File& file, const Ntuple& ntuple, uint32_t column, std::string where)
    : file_(file),
      ntuple_(ntuple),
      column_(column),
      encoding_(encoding_of(ntuple.columns.at(column)).value()),
      where_(std::move(where)) {}

void ColumnElements::fail(size_t cluster, const std::string& what) const {
  throw data_error(fmt::format("{}: cluster {} {}; copy or write the file again", where_, cluster, what));
}

void ColumnElements::load(size_t cluster, size_t page) {
  const ColumnPages& pages = ntuple_.clusters[cluster].columns[column_];
  cluster_ = SIZE_MAX;  // nothing, if the page cannot be read
  page_ = page;
  page_first_ = 0;
  for (size_t i = 0; i < page; ++i) page_first_ += pages.pages[i].elements;
  decode(cluster, pages.pages[page]);
  cluster_ = cluster;
}

std::span<const std::byte> read_page(const File& file, const Page& page, uint32_t bits_each, const std::string& where,
                                     std::vector<std::byte>& stored, std::vector<std::byte>& room) {
  constexpr size_t kChecksumBytes = 8;
  const auto fail = [&](const std::string& what) {
    throw data_error(fmt::format("{} {}; copy or write the file again", where, what));
  };
  if (page.elements > kPageElementsMax)
    fail(fmt::format("has a page of {} elements, more than are read at once", page.elements));
  if (page.bytes > kUnpackedBytesMax) fail("has a page that is too large");
  file.read(page.seek, page.bytes + (page.has_checksum ? kChecksumBytes : 0), stored);
  if (page.has_checksum) {
    uint64_t hash;
    std::memcpy(&hash, stored.data() + page.bytes, sizeof hash);
    stored.resize(page.bytes);
    if (XXH3_64bits(stored.data(), stored.size()) != hash) fail("has a page that does not match its checksum");
  }
  return unpacked(stored, (uint64_t{page.elements} * bits_each + 7) / 8, room, where);
}

void ColumnElements::decode(size_t cluster, const Page& page) {
  const uint32_t bits_each = ntuple_.columns[column_].bits;
  elements_ = read_page(file_, page, bits_each, fmt::format("{}: cluster {}", where_, cluster), stored_, room_);
  if (encoding_.bits != Bits::kWhole) return bits(page, elements_);
  if (!encoding_.split) return;
  join_split(elements_, bits_each / 8, joined_);
  undo_steps(bits_each / 8);
  elements_ = joined_;
}

void ColumnElements::undo_steps(size_t bytes) {
  if (!encoding_.zigzag && !encoding_.delta) return;
  if (bytes == 2) return undo<uint16_t>(joined_, encoding_);
  if (bytes == 4) return undo<uint32_t>(joined_, encoding_);
  undo<uint64_t>(joined_, encoding_);
}

void ColumnElements::bits(const Page& page, std::span<const std::byte> packed) {
  const NtupleColumn& column = ntuple_.columns[column_];
  const uint32_t width = column.bits;
  const double step = (column.most - column.least) / static_cast<double>((uint64_t{1} << width) - 1);
  floats_.resize(page.elements);
  uint64_t held = 0;
  uint32_t count = 0;
  size_t next = 0;
  for (float& value : floats_) {
    while (count < width) {
      held |= std::to_integer<uint64_t>(packed[next++]) << count;
      count += 8;
    }
    const uint64_t taken = held & ((uint64_t{1} << width) - 1);
    held >>= width;
    count -= width;
    if (encoding_.bits == Bits::kTruncated)
      value = std::bit_cast<float>(static_cast<uint32_t>(taken) << (32 - width));
    else if (encoding_.bits == Bits::kQuantised)
      value = static_cast<float>(column.least + static_cast<double>(taken) * step);
    else
      value = static_cast<float>(taken);
  }
}

/// take(place in the page, how many) for the parts of the elements that lie in one page each.
template <class Take>
void ColumnElements::walk(size_t cluster, uint64_t first, uint64_t count, Take&& take) {
  const Cluster& in = ntuple_.clusters[cluster];
  const bool there = column_ < in.columns.size() && first <= in.columns[column_].elements &&
                     count <= in.columns[column_].elements - first;
  if (!there) fail(cluster, fmt::format("lacks elements {} to {}", first, first + count));
  const auto& pages = in.columns[column_].pages;
  while (count > 0) {
    const bool loaded = cluster == cluster_ && first >= page_first_ && page_ < pages.size() &&
                        first - page_first_ < pages[page_].elements;
    if (!loaded) {
      uint64_t begin = 0;
      size_t page = 0;
      while (first - begin >= pages[page].elements) begin += pages[page++].elements;
      load(cluster, page);
    }
    const uint64_t at = first - page_first_, now = std::min<uint64_t>(count, pages[page_].elements - at);
    take(at, now);
    first += now;
    count -= now;
  }
}

void ColumnElements::values(size_t cluster, uint64_t first, uint64_t count, std::vector<float>& out) {
  const size_t bytes = bytes_of(encoding_.type);
  walk(cluster, first, count, [&](uint64_t at, uint64_t now) {
    if (encoding_.bits == Bits::kWhole)
      append_little(encoding_.type, elements_.subspan(at * bytes, now * bytes), out);
    else
      out.insert(out.end(), floats_.begin() + static_cast<int64_t>(at),
                 floats_.begin() + static_cast<int64_t>(at + now));
  });
}

void ColumnElements::stored(size_t cluster, uint64_t first, uint64_t count, std::vector<std::byte>& out) {
  const size_t bytes = bytes_of(encoding_.type);
  walk(cluster, first, count, [&](uint64_t at, uint64_t now) {
    if (encoding_.bits == Bits::kWhole) {
      const auto from = elements_.subspan(at * bytes, now * bytes);
      out.insert(out.end(), from.begin(), from.end());
    } else if (encoding_.bits == Bits::kBit) {
      for (uint64_t i = at; i < at + now; ++i) out.push_back(std::byte{floats_[i] != 0});
    } else {
      const auto from = std::as_bytes(std::span(floats_).subspan(at, now));
      out.insert(out.end(), from.begin(), from.end());
    }
  });
}

void ColumnElements::ends(size_t cluster, uint64_t first, uint64_t count, std::vector<uint64_t>& out) {
  const size_t bytes = bytes_of(encoding_.type);
  walk(cluster, first, count, [&](uint64_t at, uint64_t now) {
    for (uint64_t i = at; i < at + now; ++i) {
      uint64_t end = 0;
      std::memcpy(&end, elements_.data() + i * bytes, bytes);
      out.push_back(end);
    }
  });
}

void ColumnElements::characters(size_t cluster, uint64_t first, uint64_t count, std::string& out) {
  walk(cluster, first, count,
       [&](uint64_t at, uint64_t now) { out.append(reinterpret_cast<const char*>(elements_.data()) + at, now); });
}

}  // namespace linac::root
