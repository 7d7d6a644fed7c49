#include "linac/control/catalog/secrets.h"

#include <fmt/format.h>

#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/secret_names.h"

namespace linac::catalog {
namespace {

constexpr const char* kSecret =
    "SELECT user_name, name, kind, sealed, size, created_ms, changed_ms, used_ms FROM secrets";

Secret secret_of(const Row& row) {
  return {.user = row.text(0),
          .name = row.text(1),
          .kind = secret_kind(row.text(2)),
          .sealed = row.bytes(3),
          .size = row.integer(4),
          .created_ms = row.integer(5),
          .changed_ms = row.integer(6),
          .used_ms = row.integer(7)};
}

void check_room(Database& database, const Secret& wanted) {
  int64_t count = 1, bytes = wanted.size;
  for (const Secret& other : secrets(database, wanted.user)) {
    if (other.name == wanted.name) continue;
    ++count;
    bytes += other.size;
  }
  if (count > static_cast<int64_t>(job::kSecretsMax) || bytes > kSecretBytesMax)
    throw Refusal(RefusalKind::kLimit,
                  fmt::format("[secrets] a user has {} secrets with {} bytes at most; remove one that no job needs",
                              job::kSecretsMax, kSecretBytesMax));
}

}  // namespace

const char* to_string(SecretKind kind) {
  return kind == SecretKind::kFile ? "file" : "env";
}

SecretKind secret_kind(const std::string& word) {
  for (const SecretKind kind : {SecretKind::kVariable, SecretKind::kFile})
    if (word == to_string(kind)) return kind;
  throw Refusal(RefusalKind::kInvalid, fmt::format("[secrets] '{}' is no kind of secret; there are env and file",
                                                   printable(word.substr(0, 40))));
}

void set_secret(Database& database, const Secret& secret) {
  if (const std::string why = job::why_no_secret_name(secret.name); !why.empty())
    throw Refusal(RefusalKind::kInvalid, fmt::format("[secrets] '{}': {}", printable(secret.name.substr(0, 200)), why));
  check_room(database, secret);
  database.query(
      "INSERT INTO secrets (user_name, name, kind, sealed, size, created_ms, changed_ms, used_ms) VALUES ($1, $2, $3, "
      "$4, $5, $6, $6, 0) ON CONFLICT (user_name, name) DO UPDATE SET kind = excluded.kind, sealed = excluded.sealed, "
      "size = excluded.size, changed_ms = excluded.changed_ms",
      secret.user, secret.name, to_string(secret.kind), secret.sealed, secret.size, now_ms());
}

std::vector<Secret> secrets(Database& database, const std::string& user) {
  std::vector<Secret> all;
  for (const Row& row : database.query(fmt::format("{} WHERE user_name = $1 ORDER BY name", kSecret), user))
    all.push_back(secret_of(row));
  return all;
}

std::vector<Secret> all_secrets(Database& database) {
  std::vector<Secret> all;
  for (const Row& row : database.query(fmt::format("{} ORDER BY user_name, name", kSecret)))
    all.push_back(secret_of(row));
  return all;
}

bool any_secret(Database& database) {
  return database.first("SELECT 1 FROM secrets LIMIT 1").has_value();
}

void remove_secret(Database& database, const std::string& user, const std::string& name) {
  if (database.query("DELETE FROM secrets WHERE user_name = $1 AND name = $2 RETURNING name", user, name).empty())
    throw Refusal(RefusalKind::kNotFound,
                  fmt::format("[secrets] you have none of the name '{}'; `linac secrets list` shows yours",
                              printable(name.substr(0, 200))));
}

void secrets_used(Database& database, const std::string& user, const std::vector<std::string>& names, int64_t time_ms) {
  for (const std::string& name : names)
    database.query("UPDATE secrets SET used_ms = $3 WHERE user_name = $1 AND name = $2", user, name, time_ms);
}

void seal_again(Database& database, const Secret& secret, const Bytes& sealed) {
  database.query("UPDATE secrets SET sealed = $3 WHERE user_name = $1 AND name = $2", secret.user, secret.name, sealed);
}

}  // namespace linac::catalog
