#pragma once
// The content of a record in the making: numbers, texts and objects as ROOT streams them, which objects.h reads. Used
// by one thread.

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "linac/io/root/bytes.h"

namespace linac::root {

class BigEndianBytes {
 public:
  template <class... T>
  void put(T... values) {
    (put_one(values), ...);
  }
  void put_bytes(std::span<const std::byte> more) { bytes_.insert(bytes_.end(), more.begin(), more.end()); }
  /// As read_string() (file.h) has it.
  void put_text(std::string_view text);

  std::span<const std::byte> bytes() const { return bytes_; }
  size_t size() const { return bytes_.size(); }
  void clear() { bytes_.clear(); }

 protected:
  template <class T>
  void put_at(size_t position, T value) {
    const auto big = swapped(std::bit_cast<UnsignedOf<sizeof(T)>>(value));
    std::memcpy(bytes_.data() + position, &big, sizeof big);
  }

 private:
  template <class T>
  void put_one(T value) {
    bytes_.resize(bytes_.size() + sizeof value);
    put_at(bytes_.size() - sizeof value, value);
  }

  std::vector<std::byte> bytes_;
};

/// What a record's key says of its content.
struct RecordName {
  std::string class_name, name, title;
  /// Bytes of the key.
  size_t head() const;
};

class Record : public BigEndianBytes {
 public:
  explicit Record(RecordName name) : name_(std::move(name)) {}

  const RecordName& name() const { return name_; }
  /// A versioned part with its length; `fill()` puts what it holds.
  template <class Fill>
  void part(uint16_t version, const Fill& fill) {
    with_length([&] {
      put(version);
      fill();
    });
  }
  void object();  // TObject
  void named(std::string_view name, std::string_view title);
  /// A pointer to an object that follows; its place, which names it from there on.
  template <class Fill>
  uint32_t pointer(std::string_view class_name, const Fill& fill) {
    const uint32_t place = next_place();
    with_length([&] {
      put(kNewClass);
      put_bytes(std::as_bytes(std::span(class_name)));
      put(uint8_t{0});
      fill();
    });
    return place;
  }
  /// A TObjArray of `count` pointers, which `fill()` puts.
  template <class Fill>
  void array(size_t count, const Fill& fill) {
    part(3, [&] {
      object();
      put_text("");
      put(static_cast<uint32_t>(count), uint32_t{0});
      fill();
    });
  }

 private:
  static constexpr uint32_t kByteCount = 0x40000000, kNewClass = 0xFFFFFFFF;  // of TBufferFile

  uint32_t next_place() const;
  template <class Fill>
  void with_length(const Fill& fill) {
    const size_t at = size();
    put(uint32_t{0});
    fill();
    put_at(at, static_cast<uint32_t>(size() - at - sizeof(uint32_t)) | kByteCount);
  }

  RecordName name_;
};

}  // namespace linac::root
