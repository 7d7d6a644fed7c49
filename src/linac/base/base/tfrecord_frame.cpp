#include "linac/base/base/tfrecord_frame.h"

#include <bit>
#include <cstring>

#include "linac/base/base/crc32c.h"
#include "linac/base/base/error.h"

namespace linac {
namespace {

static_assert(std::endian::native == std::endian::little, "the frame's numbers are copied as they lie");

template <class T>
T load(std::span<const std::byte> bytes) {
  LINAC_CHECK(bytes.size() >= sizeof(T));
  T value;
  std::memcpy(&value, bytes.data(), sizeof value);
  return value;
}

template <class T>
void append(std::string& out, T value) {
  out.append(reinterpret_cast<const char*>(&value), sizeof value);
}

}  // namespace

std::string tfrecord_frame(std::string_view record) {
  std::string out;
  out.reserve(record.size() + kTfrecordHeaderBytes + kTfrecordFooterBytes);
  const uint64_t length = record.size();
  append(out, length);
  append(out, masked_crc32c(std::as_bytes(std::span(&length, 1))));
  out.append(record);
  append(out, masked_crc32c(std::as_bytes(std::span(record))));
  return out;
}

uint64_t tfrecord_length(std::span<const std::byte> header) {
  LINAC_CHECK(header.size() == kTfrecordHeaderBytes);
  const auto stored = load<uint32_t>(header.subspan(sizeof(uint64_t)));
  if (stored != masked_crc32c(header.first(sizeof(uint64_t)))) {
    throw data_error("the length of a record does not fit its checksum; the file is damaged or no TFRecord file");
  }
  return load<uint64_t>(header);
}

bool tfrecord_data_intact(std::span<const std::byte> data, std::span<const std::byte> footer) {
  return load<uint32_t>(footer) == masked_crc32c(data);
}

}  // namespace linac
