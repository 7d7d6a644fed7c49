#pragma once
// The wire format of protocol buffers, as far as tf.train.Example, TensorBoard events and ONNX need it: a reader over
// bytes that somebody else wrote (it trusts no length) and appenders for writing. A Reader borrows its bytes; the
// functions are pure and thread-safe. Groups, deprecated since protobuf 2, are refused.

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace linac::proto {

enum class WireType : uint8_t { kVarint = 0, kFixed64 = 1, kBytes = 2, kFixed32 = 5 };

/// One field of a message. `bits` holds a varint, fixed64 or fixed32; `bytes` a length-delimited value (a string, a
/// message or a packed list) inside the reader's buffer.
struct Field {
  uint32_t number = 0;
  WireType type = WireType::kVarint;
  uint64_t bits = 0;
  std::span<const uint8_t> bytes;

  float as_float() const;    // of kFixed32
  double as_double() const;  // of kFixed64
  std::string_view text() const;
};

/// Walks a message field by field, or a packed list value by value.
class Reader {
 public:
  explicit Reader(std::span<const uint8_t> bytes) : bytes_(bytes) {}

  /// The next field, nothing at the end. Throws a data error ("[protobuf] byte 12: ...") on a truncated or malformed
  /// field.
  std::optional<Field> next();
  bool at_end() const { return position_ == bytes_.size(); }

  /// Bare values, for packed lists.
  uint64_t varint();
  uint32_t fixed32();
  uint64_t fixed64();

 private:
  std::span<const uint8_t> take(uint64_t size, const char* what);

  std::span<const uint8_t> bytes_;
  size_t position_ = 0;
};

void append_varint(std::string& out, uint32_t field, uint64_t value);
void append_double(std::string& out, uint32_t field, double value);
void append_float(std::string& out, uint32_t field, float value);
/// A string, bytes, or an encoded message.
void append_bytes(std::string& out, uint32_t field, std::string_view value);
void append_packed_floats(std::string& out, uint32_t field, std::span<const float> values);
void append_packed_doubles(std::string& out, uint32_t field, std::span<const double> values);
void append_packed_varints(std::string& out, uint32_t field, std::span<const int64_t> values);

}  // namespace linac::proto
