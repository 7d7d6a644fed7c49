#include "linac/base/base/crc32c.h"

#include <array>
#include <cstring>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace linac {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // 0x1EDC6F41 with its bits reversed (RFC 3720, appendix B.4)
constexpr uint32_t kMaskDelta = 0xA282EAD8;

constexpr std::array<uint32_t, 256> make_table() {
  std::array<uint32_t, 256> table{};
  for (uint32_t byte = 0; byte < 256; ++byte) {
    uint32_t crc = byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
    table[byte] = crc;
  }
  return table;
}

constexpr std::array<uint32_t, 256> kTable = make_table();

#if defined(__x86_64__)
// The instruction takes three cycles and begins one each: three lanes side by side keep it busy. They are put together
// as in Mark Adler's crc32c.c (stackoverflow.com/a/17646775): the register is linear in what it began with, so that of
// one lane is sent through the zeros that stand for the bytes of the next.
constexpr size_t kLaneBytes = 2048;
constexpr size_t kLaneWords = kLaneBytes / sizeof(uint64_t);

// The register behind kLaneBytes zeros, by each of its four bytes.
using ZerosTable = std::array<std::array<uint32_t, 256>, 4>;

__attribute__((target("sse4.2"))) ZerosTable make_zeros_table() {
  ZerosTable table{};
  for (size_t place = 0; place < 4; ++place) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint64_t crc = uint64_t{byte} << (8 * place);
      for (size_t i = 0; i < kLaneWords; ++i) crc = _mm_crc32_u64(crc, 0);
      table[place][byte] = static_cast<uint32_t>(crc);
    }
  }
  return table;
}

uint32_t behind_zeros(const ZerosTable& table, uint32_t crc) {
  return table[0][crc & 0xFF] ^ table[1][(crc >> 8) & 0xFF] ^ table[2][(crc >> 16) & 0xFF] ^ table[3][crc >> 24];
}

__attribute__((target("sse4.2"))) uint32_t crc32c_sse42(std::span<const std::byte> bytes) {
  uint64_t crc = 0xFFFFFFFF;
  if (bytes.size() >= 3 * kLaneBytes) {
    static const ZerosTable zeros = make_zeros_table();
    for (; bytes.size() >= 3 * kLaneBytes; bytes = bytes.subspan(3 * kLaneBytes)) {
      uint64_t second = 0, third = 0;
      const std::byte* at = bytes.data();
      for (size_t i = 0; i < kLaneWords; ++i, at += sizeof(uint64_t)) {
        uint64_t words[3];
        for (size_t lane = 0; lane < 3; ++lane) std::memcpy(&words[lane], at + lane * kLaneBytes, sizeof(uint64_t));
        crc = _mm_crc32_u64(crc, words[0]);
        second = _mm_crc32_u64(second, words[1]);
        third = _mm_crc32_u64(third, words[2]);
      }
      crc = behind_zeros(zeros, static_cast<uint32_t>(crc)) ^ second;
      crc = behind_zeros(zeros, static_cast<uint32_t>(crc)) ^ third;
    }
  }
  while (bytes.size() >= sizeof(uint64_t)) {
    uint64_t word;
    std::memcpy(&word, bytes.data(), sizeof word);
    crc = _mm_crc32_u64(crc, word);
    bytes = bytes.subspan(sizeof word);
  }
  uint32_t tail = static_cast<uint32_t>(crc);
  for (const std::byte byte : bytes) tail = _mm_crc32_u8(tail, static_cast<uint8_t>(byte));
  return ~tail;
}
#endif

}  // namespace

uint32_t crc32c_portable(std::span<const std::byte> bytes) {
  uint32_t crc = 0xFFFFFFFF;
  for (const std::byte byte : bytes) crc = (crc >> 8) ^ kTable[(crc ^ static_cast<uint32_t>(byte)) & 0xFF];
  return ~crc;
}

uint32_t crc32c(std::span<const std::byte> bytes) {
#if defined(__x86_64__)
  static const bool has_instruction = __builtin_cpu_supports("sse4.2") != 0;
  if (has_instruction) return crc32c_sse42(bytes);
#endif
  return crc32c_portable(bytes);
}

uint32_t masked_crc32c(std::span<const std::byte> bytes) {
  const uint32_t crc = crc32c(bytes);
  return ((crc >> 15) | (crc << 17)) + kMaskDelta;
}

}  // namespace linac
