#pragma once
// Keyed hashes (libsodium). Thread-safe.

#include <string>
#include <string_view>

namespace linac::service {

/// BLAKE2b of `text` under a key that this process drew at its start: what is kept in memory instead of a secret.
std::string keyed_hash(std::string_view text);
/// Compares in a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b);

}  // namespace linac::service
