#include "linac/base/base/base64.h"

#include <algorithm>
#include <cstdint>

namespace linac {
namespace {

constexpr std::string_view kDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

}  // namespace

std::string base64(std::string_view bytes) {
  std::string result;
  result.reserve((bytes.size() + 2) / 3 * 4);
  for (size_t i = 0; i < bytes.size(); i += 3) {
    const size_t count = std::min<size_t>(3, bytes.size() - i);
    uint32_t group = 0;
    for (size_t k = 0; k < 3; ++k) group = group << 8 | (k < count ? static_cast<unsigned char>(bytes[i + k]) : 0U);
    for (size_t k = 0; k < 4; ++k) result += k <= count ? kDigits[group >> (18 - 6 * k) & 63] : '=';
  }
  return result;
}

std::optional<std::string> base64_decoded(std::string_view text) {
  for (int padding = 0; padding < 2 && text.size() % 4 != 1 && text.ends_with('='); ++padding) text.remove_suffix(1);
  if (text.size() % 4 == 1) return std::nullopt;
  std::string bytes;
  bytes.reserve(text.size() / 4 * 3 + 2);
  uint32_t group = 0;
  for (size_t i = 0; i < text.size(); ++i) {
    const size_t digit = kDigits.find(text[i]);
    if (digit == std::string_view::npos) return std::nullopt;
    group = group << 6 | static_cast<uint32_t>(digit);
    if (i % 4 != 0) bytes += static_cast<char>(group >> (6 - 2 * (i % 4)) & 0xff);
  }
  const uint32_t left = text.size() % 4 == 2 ? 0xf : text.size() % 4 == 3 ? 0x3 : 0;
  return (group & left) == 0 ? std::optional(bytes) : std::nullopt;
}

}  // namespace linac
