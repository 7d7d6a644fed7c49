#pragma once
// Where an object store is and who asks it, as Amazon's tools find that out: environment variables, then the profile of
// ~/.aws/credentials and ~/.aws/config. Keys stay in memory; no message names them.

#include <functional>
#include <optional>
#include <string>

#include "linac/net/http_client.h"

namespace linac::storage::s3 {

struct Access {
  std::string endpoint;         // http(s)://HOST[:PORT][/PATH], without a slash at its end
  bool bucket_in_host = false;  // Amazon's; other servers have it in the path
  std::string region;
  std::optional<net::AwsKeys> keys{};  // none: nothing is signed
  std::string ca_file{};               // PEM; empty: the system's
};

/// The value of an environment variable; empty where it is not set.
using Environment = std::function<std::string(const char* name)>;
std::string from_environment(const char* name);

/// User error naming the variable or the profile that makes no sense. Reads files of the user; thread-safe.
Access find_access(const Environment& environment = from_environment);

}  // namespace linac::storage::s3
