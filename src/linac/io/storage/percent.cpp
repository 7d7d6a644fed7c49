#include "linac/io/storage/percent.h"

#include <fmt/format.h>

#include <cctype>
#include <charconv>

namespace linac::storage {

std::string percent_encoded(std::string_view text, Slash slash) {
  std::string out;
  for (const char c : text) {
    const bool stays = std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '-' || c == '.' || c == '_' ||
                       c == '~' || (c == '/' && slash == Slash::kStays);
    if (stays)
      out += c;
    else
      out += fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return out;
}

std::string percent_decoded(std::string_view text) {
  std::string out;
  for (size_t i = 0; i < text.size(); ++i) {
    unsigned char byte = 0;
    if (text[i] == '%' && i + 2 < text.size() &&
        std::from_chars(text.data() + i + 1, text.data() + i + 3, byte, 16).ptr == text.data() + i + 3) {
      out += static_cast<char>(byte);
      i += 2;
    } else {
      out += text[i];
    }
  }
  return out;
}

}  // namespace linac::storage
