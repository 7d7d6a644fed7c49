#pragma once
// What users leave with the service for their jobs: keys of stores, tokens, certificates. Here are names, kinds and
// dates; the values are sealed before they come here, and opened by whoever has the key (control/service/secret_box.h).
// Each belongs to one user. Functions work within the transaction that they are given.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

enum class SecretKind { kVariable, kFile };
const char* to_string(SecretKind kind);           // "env", "file"
SecretKind secret_kind(const std::string& word);  // kInvalid for another

struct Secret {
  std::string user, name;
  SecretKind kind = SecretKind::kVariable;
  Bytes sealed;
  int64_t size = 0;  // of the value, bytes
  int64_t created_ms = 0, changed_ms = 0;
  int64_t used_ms = 0;  // by an attempt; 0: never
};

/// In place of the user's former one of that name, if there is one, or beside the others; kInvalid for a name that no
/// secret can have (base/job/secret_names.h), kLimit beyond kSecretsMax secrets or kSecretBytesMax bytes of a user.
void set_secret(Database& database, const Secret& secret);
/// By name.
std::vector<Secret> secrets(Database& database, const std::string& user);
/// Of all users.
std::vector<Secret> all_secrets(Database& database);
bool any_secret(Database& database);
void remove_secret(Database& database, const std::string& user, const std::string& name);  // kNotFound
void secrets_used(Database& database, const std::string& user, const std::vector<std::string>& names, int64_t time_ms);
/// The same values under another key.
void seal_again(Database& database, const Secret& secret, const Bytes& sealed);

constexpr int64_t kSecretBytesMax = 128 << 10;  // of a user

}  // namespace linac::catalog
