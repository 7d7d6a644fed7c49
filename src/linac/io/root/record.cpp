#include "linac/io/root/record.h"

namespace linac::root {
namespace {

constexpr size_t kShortTextBytesMax = 254;
// Of a key of version 4 with places of 64 bits: sizes, version, date, cycle, two places.
constexpr size_t kKeyNumbersBytes = 34;
constexpr uint32_t kPlaceOffset = 2;  // of TBufferFile

size_t text_bytes(std::string_view text) {
  return text.size() + (text.size() <= kShortTextBytesMax ? 1 : 5);
}

}  // namespace

size_t RecordName::head() const {
  return kKeyNumbersBytes + text_bytes(class_name) + text_bytes(name) + text_bytes(title);
}

void BigEndianBytes::put_text(std::string_view text) {
  if (text.size() <= kShortTextBytesMax)
    put(static_cast<uint8_t>(text.size()));
  else
    put(uint8_t{255}, static_cast<uint32_t>(text.size()));
  put_bytes(std::as_bytes(std::span(text)));
}

void Record::object() {
  put(uint16_t{1}, uint32_t{0}, uint32_t{0});  // version, number, bits
}

void Record::named(std::string_view name, std::string_view title) {
  part(1, [&] {
    object();
    put_text(name);
    put_text(title);
  });
}

uint32_t Record::next_place() const {
  return static_cast<uint32_t>(name_.head() + size()) + kPlaceOffset;
}

}  // namespace linac::root
