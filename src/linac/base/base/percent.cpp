#include "linac/base/base/percent.h"

#include <algorithm>

#include "linac/base/base/utf8.h"

namespace linac {
namespace {

int hexadecimal(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  if (c >= 'A' && c <= 'F') return c - 'A' + 10;
  return -1;
}

}  // namespace

std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space) {
  std::string decoded;
  decoded.reserve(text.size());
  for (size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '%') {
      if (i + 2 >= text.size()) return std::nullopt;
      const int high = hexadecimal(text[i + 1]), low = hexadecimal(text[i + 2]);
      if (high < 0 || low < 0) return std::nullopt;
      decoded.push_back(static_cast<char>(high * 16 + low));
      i += 2;
    } else {
      decoded.push_back(plus_is_space && text[i] == '+' ? ' ' : text[i]);
    }
  }
  if (!valid_text(decoded)) return std::nullopt;
  return decoded;
}

std::string percent_encoded(std::string_view text, bool keep_slashes) {
  constexpr const char* kDigits = "0123456789ABCDEF";
  std::string encoded;
  for (const char c : text) {
    const bool unreserved = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
                            c == '.' || c == '_' || c == '~' || (c == '/' && keep_slashes);
    if (unreserved) {
      encoded.push_back(c);
    } else {
      const auto byte = static_cast<unsigned char>(c);
      encoded += {'%', kDigits[byte >> 4], kDigits[byte & 15]};
    }
  }
  return encoded;
}

std::string name_as_folder(std::string_view name) {
  std::string folder = percent_encoded(name);
  std::ranges::replace(folder, '%', '=');
  return folder;
}

std::optional<std::string> folder_as_name(std::string_view folder) {
  std::string encoded(folder);
  std::ranges::replace(encoded, '=', '%');
  auto name = percent_decoded(encoded, false);
  if (!name || name_as_folder(*name) != folder) return std::nullopt;
  return name;
}

}  // namespace linac
