#pragma once
// Bytes as hexadecimal digits, where text has to stand for any bytes. Thread-safe.

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace linac {

std::string in_hex(std::string_view bytes);
inline std::string in_hex(std::span<const unsigned char> bytes) {
  return in_hex({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}
/// Whether all of it are digits as in_hex() writes them; of nothing, too.
bool is_hex(std::string_view text);
/// None for anything that in_hex() does not write.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace linac
