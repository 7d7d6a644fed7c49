#pragma once
// Networks of IP addresses, as somebody lists them. Reading is thread-safe.

#include <string>
#include <vector>

namespace linac {

class Networks {
 public:
  /// "ADDRESS" or "ADDRESS/BITS", e.g. "10.1.0.0/16", "::1". False for what is neither.
  bool add(const std::string& text);

  bool empty() const { return all_.empty(); }
  /// False for what is no address, too. An IPv4 address is the same one mapped into IPv6.
  bool contains(const std::string& address) const;

 private:
  struct Network {
    std::string bytes;  // of an IPv6 address; IPv4 mapped into it
    int bits = 128;
  };
  std::vector<Network> all_;
};

bool is_ip_address(const std::string& text);

}  // namespace linac
