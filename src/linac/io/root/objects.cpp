#include "linac/io/root/objects.h"

#include "linac/io/root/file.h"

namespace linac::root {
namespace {

// Of TBufferFile.
constexpr uint32_t kByteCount = 0x40000000, kNewClass = 0xFFFFFFFF, kClass = 0x80000000;
constexpr uint64_t kPlaceOffset = 2;
constexpr uint32_t kIsReferenced = 1 << 4;
constexpr size_t kClassNameBytesMax = 256;

}  // namespace

Part Objects::begin() {
  Cursor ahead = cursor_;
  const auto first = ahead.big<uint16_t>();
  if ((first & 0x4000) == 0) return {.version = cursor_.big<uint16_t>(), .end = 0};
  const uint32_t bytes = cursor_.big<uint32_t>() & ~kByteCount;
  if (bytes > cursor_.left()) cursor_.fail("holds an object that is longer than its record");
  const size_t end = cursor_.position() + bytes;
  return {.version = cursor_.big<uint16_t>(), .end = end};
}

void Objects::finish(const Part& part) {
  if (part.end == 0) cursor_.fail("holds an object without a length");
  cursor_.go_to(part.end);
}

void Objects::object() {
  begin();
  cursor_.skip(4);
  if ((cursor_.big<uint32_t>() & kIsReferenced) != 0) cursor_.skip(2);
}

std::string Objects::named(std::string* title) {
  const Part part = begin();
  object();
  std::string name = read_string(cursor_);
  std::string second = read_string(cursor_);
  if (title != nullptr) *title = std::move(second);
  if (part.end != 0) finish(part);
  return name;
}

Pointer Objects::pointer() {
  const size_t at = cursor_.position();
  uint32_t tag = cursor_.big<uint32_t>();
  Pointer found;
  if ((tag & kByteCount) == 0 || tag == kNewClass) {
    if (tag == 0) return found;
    if ((tag & kClass) != 0) cursor_.fail("holds an object without a length");
    found.place = tag;
    return found;
  }
  const uint32_t bytes = tag & ~kByteCount;
  if (bytes > cursor_.left()) cursor_.fail("holds an object that is longer than its record");
  found.end = cursor_.position() + bytes;
  const uint64_t tag_place = cursor_.position() + head_ + kPlaceOffset;
  tag = cursor_.big<uint32_t>();
  if (tag == kNewClass) {
    for (char letter; (letter = static_cast<char>(cursor_.big<uint8_t>())) != 0;) {
      if (found.class_name.size() == kClassNameBytesMax) cursor_.fail("holds a class whose name does not end");
      found.class_name.push_back(letter);
    }
    classes_[tag_place] = found.class_name;
  } else if ((tag & kClass) != 0) {
    const auto known = classes_.find(tag & ~kClass);
    if (known == classes_.end()) cursor_.fail("holds an object of a class that was not named");
    found.class_name = known->second;
  } else {
    cursor_.go_to(found.end);
    return {.class_name = {}, .place = tag, .end = 0};
  }
  if (found.class_name.empty()) cursor_.fail("holds a class without a name");
  found.place = at + head_ + kPlaceOffset;
  return found;
}

uint32_t Objects::array() {
  begin();
  object();
  read_string(cursor_);
  const auto count = cursor_.big<uint32_t>();
  cursor_.skip(4);  // the index of the first
  if (count > cursor_.left() / 4) cursor_.fail("holds a list that is longer than its record");
  return count;
}

}  // namespace linac::root
