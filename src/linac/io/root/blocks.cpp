#include "linac/io/root/blocks.h"

#include <libdeflate.h>
#include <lz4.h>
#include <lzma.h>
#include <xxhash.h>
#include <zstd.h>

#include <algorithm>
#include <memory>
#include <string_view>

#include "linac/io/root/bytes.h"

namespace linac::root {
namespace {

using Bytes = std::span<const std::byte>;
using Room = std::span<std::byte>;

constexpr uint64_t kLzmaMemoryBytesMax = uint64_t{256} << 20;

struct FreeInflater {
  void operator()(libdeflate_decompressor* inflater) const { libdeflate_free_decompressor(inflater); }
};
struct FreeDeflater {
  void operator()(libdeflate_compressor* deflater) const { libdeflate_free_compressor(deflater); }
};
struct FreeZstd {
  void operator()(ZSTD_DCtx* context) const { ZSTD_freeDCtx(context); }
};

libdeflate_decompressor* inflater() {
  thread_local const std::unique_ptr<libdeflate_decompressor, FreeInflater> mine(libdeflate_alloc_decompressor());
  LINAC_CHECK(mine != nullptr);
  return mine.get();
}

libdeflate_compressor* deflater() {
  thread_local const std::unique_ptr<libdeflate_compressor, FreeDeflater> mine(
      libdeflate_alloc_compressor(kPackedAs % 100));
  LINAC_CHECK(mine != nullptr);
  return mine.get();
}

ZSTD_DCtx* zstd() {
  thread_local const std::unique_ptr<ZSTD_DCtx, FreeZstd> mine(ZSTD_createDCtx());
  LINAC_CHECK(mine != nullptr);
  return mine.get();
}

bool from_zlib(Bytes packed, Room out) {
  return libdeflate_zlib_decompress(inflater(), packed.data(), packed.size(), out.data(), out.size(), nullptr) ==
         LIBDEFLATE_SUCCESS;
}

bool from_deflate(Bytes packed, Room out) {
  return libdeflate_deflate_decompress(inflater(), packed.data(), packed.size(), out.data(), out.size(), nullptr) ==
         LIBDEFLATE_SUCCESS;
}

bool from_lzma(Bytes packed, Room out) {
  uint64_t memory = kLzmaMemoryBytesMax;
  size_t from = 0, to = 0;
  return lzma_stream_buffer_decode(&memory, 0, nullptr, reinterpret_cast<const uint8_t*>(packed.data()), &from,
                                   packed.size(), reinterpret_cast<uint8_t*>(out.data()), &to, out.size()) == LZMA_OK &&
         to == out.size();
}

bool from_lz4(Bytes packed, Room out) {
  constexpr size_t kChecksumBytes = 8;
  if (packed.size() < kChecksumBytes) return false;
  const auto stored = Cursor(packed, {}).big<uint64_t>();
  packed = packed.subspan(kChecksumBytes);
  if (XXH64(packed.data(), packed.size(), 0) != stored) return false;
  return LZ4_decompress_safe(reinterpret_cast<const char*>(packed.data()), reinterpret_cast<char*>(out.data()),
                             static_cast<int>(packed.size()),
                             static_cast<int>(out.size())) == static_cast<int>(out.size());
}

bool from_zstd(Bytes packed, Room out) {
  return ZSTD_decompressDCtx(zstd(), out.data(), out.size(), packed.data(), packed.size()) == out.size();
}

struct Method {
  std::string_view sign;
  bool (*unpack)(Bytes, Room);
};
constexpr Method kMethods[] = {
    {"ZL", from_zlib}, {"CS", from_deflate}, {"XZ", from_lzma}, {"L4", from_lz4}, {"ZS", from_zstd}};

const Method* method_of(std::string_view sign) {
  for (const Method& method : kMethods)
    if (method.sign == sign) return &method;
  return nullptr;
}

size_t size_of_three(Bytes bytes) {
  return std::to_integer<size_t>(bytes[0]) | std::to_integer<size_t>(bytes[1]) << 8 |
         std::to_integer<size_t>(bytes[2]) << 16;
}

void put_size_of_three(size_t size, Room to) {
  for (std::byte& byte : to.first(3)) {
    byte = static_cast<std::byte>(size);
    size >>= 8;
  }
}

}  // namespace

std::span<const std::byte> unpacked(std::span<const std::byte> packed, size_t bytes, std::vector<std::byte>& room,
                                    const std::string& what) {
  Cursor cursor(packed, what);
  if (bytes > kUnpackedBytesMax) cursor.fail(fmt::format("unpacks to {} bytes, more than is read at once", bytes));
  if (packed.size() == bytes) return packed;
  size_t done = 0;
  while (done < bytes) {
    const std::string sign = cursor.text(2);
    cursor.skip(1);
    const size_t from = size_of_three(cursor.take(3)), to = size_of_three(cursor.take(3));
    const Method* const method = method_of(sign);
    if (method == nullptr) cursor.fail("is compressed by an unknown method");
    if (to == 0 || to > bytes - done) cursor.fail("has a compressed block of a wrong size");
    const Bytes block = cursor.take(from);
    if (room.size() < done + to) room.resize(done + to);
    if (!method->unpack(block, Room(room).subspan(done, to))) cursor.fail("has a damaged compressed block");
    done += to;
  }
  return Bytes(room).first(bytes);
}

std::vector<std::byte> packed(std::span<const std::byte> bytes) {
  constexpr size_t kHeadBytes = 9;
  constexpr size_t kBlockBytesMax = 0xFFFFFF;
  constexpr std::byte kDeflated{8};  // zlib's Z_DEFLATED
  std::vector<std::byte> out;
  for (; !bytes.empty(); bytes = bytes.subspan(std::min(bytes.size(), kBlockBytesMax))) {
    const Bytes from = bytes.first(std::min(bytes.size(), kBlockBytesMax));
    if (from.size() <= kHeadBytes) return {};
    const size_t at = out.size();
    out.resize(at + from.size());
    const Room block = Room(out).subspan(at);
    const Room room = block.subspan(kHeadBytes, from.size() - kHeadBytes - 1);
    const size_t to = libdeflate_zlib_compress(deflater(), from.data(), from.size(), room.data(), room.size());
    if (to == 0) return {};
    block[0] = std::byte{'Z'};
    block[1] = std::byte{'L'};
    block[2] = kDeflated;
    put_size_of_three(to, block.subspan(3));
    put_size_of_three(from.size(), block.subspan(6));
    out.resize(at + kHeadBytes + to);
  }
  return out;
}

}  // namespace linac::root
