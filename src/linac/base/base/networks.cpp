#include "linac/base/base/networks.h"

#include <arpa/inet.h>

#include <algorithm>
#include <charconv>
#include <optional>

namespace linac {
namespace {

constexpr int kMappedBits = 96;

std::optional<std::string> bytes_of(const std::string& text, bool* mapped = nullptr) {
  in_addr four{};
  in6_addr six{};
  const bool is_four = inet_pton(AF_INET, text.c_str(), &four) == 1;
  if (mapped != nullptr) *mapped = is_four;
  if (is_four) return std::string(10, '\0') + "\xff\xff" + std::string(reinterpret_cast<const char*>(&four), 4);
  // Of a link: "fe80::1%eth0".
  if (inet_pton(AF_INET6, text.substr(0, text.find('%')).c_str(), &six) != 1) return std::nullopt;
  return std::string(reinterpret_cast<const char*>(&six), sizeof six);
}

bool same_front(const std::string& a, const std::string& b, int bits) {
  for (size_t i = 0; bits > 0; ++i, bits -= 8) {
    const auto mask = static_cast<unsigned char>(bits >= 8 ? 0xFF : 0xFF << (8 - bits));
    if ((static_cast<unsigned char>(a[i]) & mask) != (static_cast<unsigned char>(b[i]) & mask)) return false;
  }
  return true;
}

}  // namespace

bool Networks::add(const std::string& text) {
  const size_t slash = text.find('/');
  bool mapped = false;
  const auto bytes = bytes_of(text.substr(0, slash), &mapped);
  if (!bytes) return false;
  const int most = mapped ? 32 : 128;
  int bits = most;
  if (slash != std::string::npos) {
    const char *begin = text.data() + slash + 1, *end = text.data() + text.size();
    const auto [at, error] = std::from_chars(begin, end, bits);
    if (error != std::errc() || at != end || begin == end || bits < 0 || bits > most) return false;
  }
  all_.push_back({*bytes, bits + (mapped ? kMappedBits : 0)});
  return true;
}

bool Networks::contains(const std::string& address) const {
  const auto bytes = bytes_of(address);
  return bytes && std::ranges::any_of(
                      all_, [&](const Network& network) { return same_front(*bytes, network.bytes, network.bits); });
}

bool is_ip_address(const std::string& text) {
  return bytes_of(text).has_value();
}

}  // namespace linac
