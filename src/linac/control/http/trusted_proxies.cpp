#include "linac/control/http/trusted_proxies.h"

#include <fmt/format.h>

#include <boost/asio/ip/address.hpp>
#include <charconv>
#include <optional>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"

namespace linac::http {
namespace {

namespace ip = boost::asio::ip;

constexpr int kMappedBits = 96;

std::optional<std::string> bytes_of(const std::string& text, bool* mapped = nullptr) {
  boost::system::error_code error;
  const ip::address address = ip::make_address(text, error);
  if (error) return std::nullopt;
  const ip::address_v6 six = address.is_v4() ? ip::make_address_v6(ip::v4_mapped, address.to_v4()) : address.to_v6();
  if (mapped) *mapped = address.is_v4();
  const auto bytes = six.to_bytes();
  return std::string(bytes.begin(), bytes.end());
}

bool same_front(const std::string& a, const std::string& b, int bits) {
  for (size_t i = 0; bits > 0; ++i, bits -= 8) {
    const auto mask = static_cast<unsigned char>(bits >= 8 ? 0xFF : 0xFF << (8 - bits));
    if ((static_cast<unsigned char>(a[i]) & mask) != (static_cast<unsigned char>(b[i]) & mask)) return false;
  }
  return true;
}

std::string trimmed(std::string text) {
  while (!text.empty() && text.front() == ' ') text.erase(0, 1);
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

}  // namespace

TrustedProxies::TrustedProxies(const std::vector<std::string>& addresses) {
  for (const std::string& text : addresses) {
    const size_t slash = text.find('/');
    bool mapped = false;
    const auto bytes = bytes_of(text.substr(0, slash), &mapped);
    int bits = mapped ? 32 : 128;
    const int most = bits;
    bool good = bytes.has_value();
    if (slash != std::string::npos) {
      const char *begin = text.data() + slash + 1, *end = text.data() + text.size();
      const auto [at, error] = std::from_chars(begin, end, bits);
      good = good && error == std::errc() && at == end && begin != end && bits >= 0 && bits <= most;
    }
    if (!good)
      throw user_error(fmt::format("[serve] --trusted-proxy {}: no address (wanted: e.g. 10.1.2.3, 10.1.0.0/16 or ::1)",
                                   printable(text)));
    networks_.push_back({*bytes, bits + (mapped ? kMappedBits : 0)});
  }
}

bool TrustedProxies::contains(const std::string& address) const {
  if (networks_.empty()) return false;
  const auto bytes = bytes_of(address);
  if (!bytes) return false;
  for (const Network& network : networks_)
    if (same_front(*bytes, network.bytes, network.bits)) return true;
  return false;
}

std::string TrustedProxies::client(const std::string& from, const std::map<std::string, std::string>& headers) const {
  if (!contains(from)) return from;
  const auto header = headers.find("x-forwarded-for");
  if (header == headers.end()) return from;
  std::string nearest = from, left = header->second;
  while (!left.empty()) {  // from the last, which the proxy itself has added
    const size_t comma = left.rfind(',');
    const std::string address = trimmed(comma == std::string::npos ? left : left.substr(comma + 1));
    if (!bytes_of(address)) return nearest;  // nobody knows who wrote what is in front of it
    nearest = address;
    if (!contains(address)) return nearest;
    left.resize(comma == std::string::npos ? 0 : comma);
  }
  return nearest;
}

bool TrustedProxies::secure(const std::string& from, const std::map<std::string, std::string>& headers) const {
  const auto header = headers.find("x-forwarded-proto");
  return header != headers.end() && header->second == "https" && contains(from);
}

}  // namespace linac::http
