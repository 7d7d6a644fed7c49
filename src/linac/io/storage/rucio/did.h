#pragma once
// The name of a file, data set or container in Rucio: rucio://SCOPE:NAME[?rse=EXPRESSION].

#include <string>

namespace linac::storage::rucio {

struct Did {
  std::string scope, name;
  std::string rse{};  // Rucio's expression for the storage elements to read from; empty: all

  std::string url() const;
  /// Of the server's interface: "/dids/SCOPE/NAME". Slashes in names stay, as those of some experiments have them.
  std::string path() const;
};

/// User error for what is no such address.
Did parse_did(const std::string& url);

}  // namespace linac::storage::rucio
