#include "linac/base/base/protowire.h"

#include <fmt/format.h>

#include <bit>
#include <cstring>

#include "linac/base/base/error.h"

namespace linac::proto {
namespace {

static_assert(std::endian::native == std::endian::little, "the wire's numbers are copied as they lie");

constexpr int kVarintBytesMax = 10;
constexpr uint64_t kFieldNumberMax = (uint64_t{1} << 29) - 1;

void append_raw_varint(std::string& out, uint64_t value) {
  while (value >= 0x80) {
    out.push_back(static_cast<char>(value | 0x80));
    value >>= 7;
  }
  out.push_back(static_cast<char>(value));
}

void append_tag(std::string& out, uint32_t field, WireType type) {
  append_raw_varint(out, uint64_t{field} << 3 | static_cast<uint64_t>(type));
}

template <class T>
void append_raw(std::string& out, std::span<const T> values) {
  out.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
}

template <class T>
void append_packed(std::string& out, uint32_t field, std::span<const T> values) {
  append_tag(out, field, WireType::kBytes);
  append_raw_varint(out, values.size_bytes());
  append_raw(out, values);
}

}  // namespace

float Field::as_float() const {
  return std::bit_cast<float>(static_cast<uint32_t>(bits));
}

double Field::as_double() const {
  return std::bit_cast<double>(bits);
}

std::string_view Field::text() const {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::span<const uint8_t> Reader::take(uint64_t size, const char* what) {
  const size_t left = bytes_.size() - position_;
  if (size > left) {
    throw data_error(fmt::format("[protobuf] byte {}: {} of {} bytes, {} are left; the message is cut or damaged",
                                 position_, what, size, left));
  }
  const auto taken = bytes_.subspan(position_, static_cast<size_t>(size));
  position_ += static_cast<size_t>(size);
  return taken;
}

uint64_t Reader::varint() {
  const size_t start = position_;
  uint64_t value = 0;
  for (int i = 0; i < kVarintBytesMax; ++i) {
    const uint8_t byte = take(1, "a variable-length number")[0];
    // The tenth byte carries only bit 63.
    if (i == kVarintBytesMax - 1 && byte > 1) break;
    value |= uint64_t{byte & 0x7FU} << (7 * i);
    if (byte < 0x80) return value;
  }
  throw data_error(
      fmt::format("[protobuf] byte {}: a variable-length number exceeds 64 bits; the message is damaged", start));
}

uint32_t Reader::fixed32() {
  uint32_t value;
  std::memcpy(&value, take(sizeof value, "a fixed number").data(), sizeof value);
  return value;
}

uint64_t Reader::fixed64() {
  uint64_t value;
  std::memcpy(&value, take(sizeof value, "a fixed number").data(), sizeof value);
  return value;
}

std::optional<Field> Reader::next() {
  if (at_end()) return std::nullopt;
  const size_t start = position_;
  const uint64_t tag = varint();
  const uint64_t number = tag >> 3;
  if (number == 0 || number > kFieldNumberMax) {
    throw data_error(
        fmt::format("[protobuf] byte {}: field number {} is not possible; the message is damaged", start, number));
  }
  Field field;
  field.number = static_cast<uint32_t>(number);
  field.type = static_cast<WireType>(tag & 7);
  switch (field.type) {
    case WireType::kVarint:
      field.bits = varint();
      return field;
    case WireType::kFixed64:
      field.bits = fixed64();
      return field;
    case WireType::kBytes:
      field.bytes = take(varint(), "a value");
      return field;
    case WireType::kFixed32:
      field.bits = fixed32();
      return field;
  }
  throw data_error(
      fmt::format("[protobuf] byte {}: wire type {} is not known; the message is damaged", start, tag & 7));
}

void append_varint(std::string& out, uint32_t field, uint64_t value) {
  append_tag(out, field, WireType::kVarint);
  append_raw_varint(out, value);
}

void append_double(std::string& out, uint32_t field, double value) {
  append_tag(out, field, WireType::kFixed64);
  append_raw(out, std::span<const double>(&value, 1));
}

void append_float(std::string& out, uint32_t field, float value) {
  append_tag(out, field, WireType::kFixed32);
  append_raw(out, std::span<const float>(&value, 1));
}

void append_bytes(std::string& out, uint32_t field, std::string_view value) {
  append_tag(out, field, WireType::kBytes);
  append_raw_varint(out, value.size());
  out.append(value);
}

void append_packed_floats(std::string& out, uint32_t field, std::span<const float> values) {
  append_packed(out, field, values);
}

void append_packed_doubles(std::string& out, uint32_t field, std::span<const double> values) {
  append_packed(out, field, values);
}

void append_packed_varints(std::string& out, uint32_t field, std::span<const int64_t> values) {
  std::string packed;
  for (const int64_t value : values) append_raw_varint(packed, static_cast<uint64_t>(value));
  append_bytes(out, field, packed);
}

}  // namespace linac::proto
