#pragma once
// Keyed hashes and base64 (libsodium). Thread-safe.

#include <string>
#include <string_view>

namespace linac::service {

/// BLAKE2b of `text` under a key that this process drew at its start: what is kept in memory instead of a secret.
std::string keyed_hash(std::string_view text);
/// Compares in a time that does not depend on where they differ.
bool same_secret(std::string_view a, std::string_view b);
/// Nothing but the bytes of base64, with or without padding; empty if it is none.
std::string base64_decoded(std::string_view text);

}  // namespace linac::service
