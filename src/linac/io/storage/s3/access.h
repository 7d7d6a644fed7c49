#pragma once
// Where an object store is and who asks it, as Amazon's tools find that out: environment variables, then the profile of
// ~/.aws/credentials and ~/.aws/config. Keys stay in memory; no message names them.

#include <optional>
#include <string>

#include "linac/io/net/http_client.h"
#include "linac/io/storage/user_settings.h"

namespace linac::storage::s3 {

struct Access {
  std::string endpoint;         // http(s)://HOST[:PORT][/PATH], without a slash at its end
  bool bucket_in_host = false;  // Amazon's; other servers have it in the path
  std::string region;
  std::optional<net::AwsKeys> keys{};  // none: nothing is signed
  std::string ca_file{};               // PEM; empty: the system's
};

/// User error naming the variable or the profile that makes no sense. Reads files of the user; thread-safe.
Access find_access(const Environment& environment = from_environment);

}  // namespace linac::storage::s3
