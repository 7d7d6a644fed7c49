#pragma once
// Which Rucio server, and as whom, as Rucio's own client finds that out: rucio.cfg, and variables before it. Passwords
// and tokens stay in memory; no message names them.

#include <filesystem>
#include <string>

#include "linac/io/storage/user_settings.h"

namespace linac::storage::rucio {

struct Access {
  std::string host, auth_host;       // http(s)://HOST[:PORT][/PATH], without a slash at its end
  std::string account, vo;           // may be empty
  std::string auth_type;             // "userpass", "oidc", "x509_proxy", ...
  std::string username, password;    // of userpass
  std::filesystem::path token_file;  // where Rucio's client keeps its token
  std::string ca_file;               // PEM; empty: the system's
};

/// User error where no server is named. Reads files of the user; thread-safe.
Access find_access(const Environment& environment = from_environment);

}  // namespace linac::storage::rucio
