#pragma once
// Bytes as hexadecimal digits, where text has to stand for any bytes. Thread-safe.

#include <optional>
#include <string>
#include <string_view>

namespace linac {

std::string in_hex(std::string_view bytes);
/// None for anything that in_hex() does not write.
std::optional<std::string> from_hex(std::string_view digits);

}  // namespace linac
