#pragma once
// Proxies that say for whom they ask, and how they were asked. What others write into X-Forwarded-For and
// X-Forwarded-Proto is not looked at. Immutable, thread-safe.

#include <map>
#include <string>
#include <vector>

#include "linac/base/base/networks.h"

namespace linac::http {

class TrustedProxies {
 public:
  TrustedProxies() = default;
  /// Each "ADDRESS" or "ADDRESS/BITS", e.g. "10.1.0.0/16", "::1". User error for what is neither.
  explicit TrustedProxies(const std::vector<std::string>& addresses);

  bool contains(const std::string& address) const { return networks_.contains(address); }
  /// Who asks, if `from` is the other end of the connection: behind a listed proxy the last address in X-Forwarded-For
  /// that is no listed proxy itself. `headers` by lower-case name.
  std::string client(const std::string& from, const std::map<std::string, std::string>& headers) const;
  /// Whether a listed proxy was asked by TLS.
  bool secure(const std::string& from, const std::map<std::string, std::string>& headers) const;

 private:
  Networks networks_;
};

}  // namespace linac::http
