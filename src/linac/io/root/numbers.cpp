#include "linac/io/root/numbers.h"

#include "linac/base/base/float_clones.h"
#include "linac/io/root/bytes.h"

namespace linac::root {
namespace {

float from_half(uint16_t half) {
  const uint32_t sign = static_cast<uint32_t>(half & 0x8000) << 16, exponent = (half >> 10) & 31, rest = half & 1023;
  if (exponent == 0) return (sign != 0 ? -1.0F : 1.0F) * static_cast<float>(rest) * 0x1p-24F;
  const uint32_t scaled = exponent == 31 ? 255 : exponent + 112;
  return std::bit_cast<float>(sign | scaled << 23 | rest << 13);
}

template <class T, bool kBig>
inline float value_at(const std::byte* at) {
  UnsignedOf<sizeof(T)> bits;
  std::memcpy(&bits, at, sizeof bits);
  if constexpr (kBig) bits = swapped(bits);
  if constexpr (std::is_same_v<T, bool>)
    return bits != 0 ? 1 : 0;
  else
    return static_cast<float>(std::bit_cast<T>(bits));
}

// Each loop by itself, so that each has its instruction sets.
#define LINAC_ROOT_LOOP(name, T, big)                                                  \
  LINAC_FLOAT_CLONES void name(const std::byte* from, size_t count, float* to) {       \
    for (size_t i = 0; i < count; ++i) to[i] = value_at<T, big>(from + i * sizeof(T)); \
  }
#define LINAC_ROOT_LOOPS(name, T)      \
  LINAC_ROOT_LOOP(big_##name, T, true) \
  LINAC_ROOT_LOOP(little_##name, T, false)

LINAC_ROOT_LOOPS(bool, bool)
LINAC_ROOT_LOOPS(int8, int8_t)
LINAC_ROOT_LOOPS(uint8, uint8_t)
LINAC_ROOT_LOOPS(int16, int16_t)
LINAC_ROOT_LOOPS(uint16, uint16_t)
LINAC_ROOT_LOOPS(int32, int32_t)
LINAC_ROOT_LOOPS(uint32, uint32_t)
LINAC_ROOT_LOOPS(int64, int64_t)
LINAC_ROOT_LOOPS(uint64, uint64_t)
LINAC_ROOT_LOOPS(float, float)
LINAC_ROOT_LOOPS(double, double)
#undef LINAC_ROOT_LOOPS
#undef LINAC_ROOT_LOOP

void big_half(const std::byte* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i)
    to[i] = from_half(
        static_cast<uint16_t>(std::to_integer<int>(from[2 * i]) << 8 | std::to_integer<int>(from[2 * i + 1])));
}
void little_half(const std::byte* from, size_t count, float* to) {
  for (size_t i = 0; i < count; ++i)
    to[i] = from_half(
        static_cast<uint16_t>(std::to_integer<int>(from[2 * i + 1]) << 8 | std::to_integer<int>(from[2 * i])));
}

using Loop = void (*)(const std::byte*, size_t, float*);
struct Row {
  const char* name;
  size_t bytes;
  Loop big, little;
};
constexpr Row kTypes[] = {{"bool", 1, big_bool, little_bool},       {"int8", 1, big_int8, little_int8},
                          {"uint8", 1, big_uint8, little_uint8},    {"int16", 2, big_int16, little_int16},
                          {"uint16", 2, big_uint16, little_uint16}, {"int32", 4, big_int32, little_int32},
                          {"uint32", 4, big_uint32, little_uint32}, {"int64", 8, big_int64, little_int64},
                          {"uint64", 8, big_uint64, little_uint64}, {"float16", 2, big_half, little_half},
                          {"float", 4, big_float, little_float},    {"double", 8, big_double, little_double}};

const Row& row_of(Type type) {
  return kTypes[static_cast<size_t>(type)];
}

void append(Loop loop, size_t value_bytes, std::span<const std::byte> bytes, std::vector<float>& out) {
  const size_t count = bytes.size() / value_bytes, old = out.size();
  out.resize(old + count);
  loop(bytes.data(), count, out.data() + old);
}

}  // namespace

size_t bytes_of(Type type) {
  return row_of(type).bytes;
}

const char* to_string(Type type) {
  return row_of(type).name;
}

void append_big(Type type, std::span<const std::byte> bytes, std::vector<float>& out) {
  append(row_of(type).big, row_of(type).bytes, bytes, out);
}

void append_little(Type type, std::span<const std::byte> bytes, std::vector<float>& out) {
  append(row_of(type).little, row_of(type).bytes, bytes, out);
}

void copy_big(Type type, std::span<const std::byte> bytes, std::vector<std::byte>& out) {
  const size_t each = bytes_of(type), old = out.size();
  out.resize(old + bytes.size());
  std::byte* const to = out.data() + old;
  for (size_t at = 0; at < bytes.size(); at += each)
    for (size_t i = 0; i < each; ++i) to[at + i] = bytes[at + each - 1 - i];
  if (type == Type::kBool)
    for (size_t i = old; i < out.size(); ++i) out[i] = std::byte{out[i] != std::byte{0}};
}

LINAC_FLOAT_CLONES void join_four(const std::byte* from, size_t count, std::byte* to) {
  const std::byte *a = from, *b = from + count, *c = b + count, *d = c + count;
  for (size_t i = 0; i < count; ++i) {
    to[4 * i] = a[i];
    to[4 * i + 1] = b[i];
    to[4 * i + 2] = c[i];
    to[4 * i + 3] = d[i];
  }
}

void join_split(std::span<const std::byte> split, size_t value_bytes, std::vector<std::byte>& out) {
  const size_t count = split.size() / value_bytes;
  out.resize(split.size());
  if (value_bytes == 4) return join_four(split.data(), count, out.data());
  for (size_t i = 0; i < count; ++i)
    for (size_t byte = 0; byte < value_bytes; ++byte) out[i * value_bytes + byte] = split[byte * count + i];
}

void append_big_rows(Type type, std::span<const std::byte> rows, size_t stride, size_t offset, size_t values,
                     std::vector<float>& out) {
  const size_t bytes = values * bytes_of(type);
  for (size_t at = 0; at + stride <= rows.size(); at += stride) append_big(type, rows.subspan(at + offset, bytes), out);
}

}  // namespace linac::root
