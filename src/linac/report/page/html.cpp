#include "linac/report/page/html.h"

#include <array>
#include <cstdint>

namespace linac::report {

std::string escape(std::string_view text) {
  std::string result;
  result.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        result += "&amp;";
        break;
      case '<':
        result += "&lt;";
        break;
      case '>':
        result += "&gt;";
        break;
      case '"':
        result += "&quot;";
        break;
      case '\'':
        result += "&#39;";
        break;
      default:
        result += c;
    }
  }
  return result;
}

std::string element(std::string_view name, std::string_view attributes, std::string_view content) {
  std::string result = "<";
  result += name;
  if (!attributes.empty()) {
    result += ' ';
    result += attributes;
  }
  result += '>';
  result += content;
  result += "</";
  result += name;
  result += ">\n";
  return result;
}

std::string data_uri(std::string_view png) {
  static constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string result = "data:image/png;base64,";
  result.reserve(result.size() + (png.size() + 2) / 3 * 4);
  for (size_t i = 0; i < png.size(); i += 3) {
    const size_t bytes = std::min<size_t>(3, png.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < bytes ? static_cast<unsigned char>(png[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) result += k <= bytes ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return result;
}

}  // namespace linac::report
