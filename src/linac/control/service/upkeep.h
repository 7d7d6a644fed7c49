#pragma once
// What who may read the data folder does beside a service, whether it runs or not: `linac serve token`, `linac serve
// check`.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace linac::service {

/// A new token for `user`, of as much as he may; empty: for the first admin who is not disabled. Returns its secret.
/// `days` 0: does not expire. `alone`: his former tokens end (a running service remembers them for a minute). User
/// error if there is no catalog or no such user, or he is disabled.
std::string token_of_host(const std::filesystem::path& data, const std::string& database, const std::string& user,
                          int64_t days, bool alone);

/// What is wrong with the catalog, in words; nothing if it is sound. Reads all of it. User error if there is none.
std::vector<std::string> check_catalog(const std::filesystem::path& data, const std::string& database);

}  // namespace linac::service
