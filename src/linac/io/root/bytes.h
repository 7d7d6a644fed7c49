#pragma once
// A position in bytes that others wrote. Nothing is read beyond the end: a data error names what was read. ROOT's own
// objects are big-endian, an RNTuple's are little-endian.

#include <fmt/format.h>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <type_traits>

#include "linac/base/base/error.h"

namespace linac::root {

static_assert(std::endian::native == std::endian::little);

template <size_t kBytes>
using UnsignedOf =
    std::conditional_t<kBytes == 1, uint8_t,
                       std::conditional_t<kBytes == 2, uint16_t, std::conditional_t<kBytes == 4, uint32_t, uint64_t>>>;

template <class T>
constexpr T swapped(T value) {
  if constexpr (sizeof(T) == 2) return __builtin_bswap16(value);
  if constexpr (sizeof(T) == 4) return __builtin_bswap32(value);
  if constexpr (sizeof(T) == 8) return __builtin_bswap64(value);
  return value;
}

/// The data error of what is sound and of a form that is not read.
class NotRead : public Error {
 public:
  explicit NotRead(const std::string& message) : Error(ErrorCode::kData, message) {}
};

class Cursor {
 public:
  /// Borrows the bytes; `what` is what messages call them: "[root] a.root: the tree 'Events'".
  Cursor(std::span<const std::byte> bytes, std::string what) : bytes_(bytes), what_(std::move(what)) {}

  size_t position() const { return position_; }
  size_t left() const { return bytes_.size() - position_; }
  const std::string& what() const { return what_; }

  template <class T>
  T big() {
    return std::bit_cast<T>(swapped(number<UnsignedOf<sizeof(T)>>()));
  }
  template <class T>
  T little() {
    return std::bit_cast<T>(number<UnsignedOf<sizeof(T)>>());
  }

  std::span<const std::byte> take(uint64_t count) {
    if (count > left()) fail("ends too early");
    const auto taken = bytes_.subspan(position_, count);
    position_ += count;
    return taken;
  }
  void skip(uint64_t count) { take(count); }
  /// Forward only.
  void go_to(size_t position) {
    if (position < position_) fail("states a length that is too short");
    skip(position - position_);
  }

  std::string text(uint64_t count) {
    const auto bytes = take(count);
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
  }

  [[noreturn]] void fail(const std::string& why) const {
    throw data_error(fmt::format("{} {} (byte {}); copy or write the file again", what_, why, position_));
  }

 private:
  template <class U>
  U number() {
    U value;
    std::memcpy(&value, take(sizeof value).data(), sizeof value);
    return value;
  }

  std::span<const std::byte> bytes_;
  std::string what_;
  size_t position_ = 0;
};

}  // namespace linac::root
