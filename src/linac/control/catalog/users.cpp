#include "linac/control/catalog/users.h"

#include <fmt/format.h>
#include <sodium.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <semaphore>

#include "linac/base/base/clock.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/secure_random.h"
#include "linac/control/catalog/records.h"

namespace linac::catalog {
namespace {

// RFC 9106's argon2id. The secret has 256 random bits, so nobody guesses it; the hash has to be no more than a moderate
// obstacle, and 24 requests at once must not need gigabytes.
constexpr unsigned long long kHashPasses = 4;
constexpr size_t kHashBytes = size_t{8} << 20;
constexpr int kHashesAtOnceMax = 8;
constexpr size_t kUserNameMax = 64;
constexpr std::string_view kTokenPrefix = "linac_";
constexpr size_t kTokenIdDigits = 16, kSecretDigits = 64, kCertificateDigits = 64;

constexpr std::array kRoles{std::pair{Role::kAgent, "agent"}, std::pair{Role::kSharedAgent, "shared-agent"},
                            std::pair{Role::kViewer, "viewer"}, std::pair{Role::kMember, "member"},
                            std::pair{Role::kAdmin, "admin"}};

/// One of a few turns to use that memory.
class HashTurn {
 public:
  HashTurn() {
    static const bool ready = ::sodium_init() >= 0;
    LINAC_CHECK(ready);
    turns().acquire();
  }
  ~HashTurn() { turns().release(); }
  HashTurn(const HashTurn&) = delete;
  HashTurn& operator=(const HashTurn&) = delete;

 private:
  static std::counting_semaphore<kHashesAtOnceMax>& turns() {
    static std::counting_semaphore<kHashesAtOnceMax> all(kHashesAtOnceMax);
    return all;
  }
};

User user_of(const Row& row) {
  return {.name = row.text(0),
          .role = role(row.text(1)),
          .account = row.text(2),
          .disabled = row.integer(3) != 0,
          .quota = {row.integer(4), row.integer(5), row.number(6)},
          .created_ms = row.integer(7)};
}

Token token_of(const Row& row) {
  return {.id = row.text(0),
          .user = row.text(1),
          .note = row.text(2),
          .scope = scope_of_token(row.text(3)),
          .created_ms = row.integer(4),
          .expires_ms = row.integer(5),
          .used_ms = row.integer(6)};
}

constexpr const char* kUser =
    "SELECT name, role, account, disabled, jobs_max, cores_max, core_hours_max, created_ms FROM users";
constexpr const char* kToken = "SELECT id, user_name, note, scope, created_ms, expires_ms, used_ms, hash FROM tokens";

void check_user_name(const std::string& name) {
  const bool good = !name.empty() && name.size() <= kUserNameMax && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '.' || c == '_' || c == '-';
  });
  if (!good)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[users] '{}' is no name of a user; give 1 to {} of a-z, 0-9, '.', '_', '-'",
                              name.substr(0, kUserNameMax), kUserNameMax));
}

void check_quota(const Quota& quota) {
  if (quota.jobs_max < 0 || quota.cores_max < 0 || !(quota.core_hours_max >= 0) || std::isinf(quota.core_hours_max))
    throw Refusal(RefusalKind::kInvalid, "[users] a quota is 0 (no limit) or more");
}

}  // namespace

const char* to_string(Role role) {
  for (const auto& [known, word] : kRoles)
    if (known == role) return word;
  return "unknown";
}

Role role(const std::string& word) {
  for (const auto& [known, name] : kRoles)
    if (word == name && known >= Role::kViewer) return known;
  throw Refusal(RefusalKind::kInvalid,
                fmt::format("[users] '{}' is no role; there are viewer, member, admin", word.substr(0, 40)));
}

Role scope_of_token(const std::string& word) {
  for (const Role of_agents : {Role::kAgent, Role::kSharedAgent})
    if (word == to_string(of_agents)) return of_agents;
  return role(word);
}

void create_user(Database& database, const User& user) {
  check_user_name(user.name);
  check_quota(user.quota);
  if (database.first("SELECT 1 FROM users WHERE name = $1", user.name))
    throw Refusal(RefusalKind::kExists, fmt::format("[users] '{}' exists already; choose another name", user.name));
  database.query(
      "INSERT INTO users (name, role, account, disabled, jobs_max, cores_max, core_hours_max, created_ms) VALUES ($1, "
      "$2, $3, $4, $5, $6, $7, $8)",
      user.name, to_string(user.role), user.account, int64_t{user.disabled}, user.quota.jobs_max, user.quota.cores_max,
      user.quota.core_hours_max, user.created_ms > 0 ? user.created_ms : now_ms());
}

User user(Database& database, const std::string& name) {
  const auto row = database.first(fmt::format("{} WHERE name = $1", kUser), name);
  if (!row) throw Refusal(RefusalKind::kNotFound, fmt::format("[users] no user '{}'", name.substr(0, kUserNameMax)));
  return user_of(*row);
}

std::vector<User> users(Database& database) {
  std::vector<User> all;
  for (const Row& row : database.query(fmt::format("{} ORDER BY name", kUser))) all.push_back(user_of(row));
  return all;
}

void change_user(Database& database, const User& user) {
  check_quota(user.quota);
  if (database
          .query(
              "UPDATE users SET role = $2, account = $3, disabled = $4, jobs_max = $5, cores_max = $6, core_hours_max "
              "= $7 WHERE name = $1 RETURNING name",
              user.name, to_string(user.role), user.account, int64_t{user.disabled}, user.quota.jobs_max,
              user.quota.cores_max, user.quota.core_hours_max)
          .empty())
    throw Refusal(RefusalKind::kNotFound, fmt::format("[users] no user '{}'", user.name.substr(0, kUserNameMax)));
}

NewToken make_token(const std::string& user, Role scope, int64_t lifetime_ms, const std::string& note,
                    std::string& hash, const std::string& certificate) {
  const int64_t now = now_ms();
  NewToken made{.token = {.id = random_hex(kTokenIdDigits),
                          .user = user,
                          .note = note,
                          .scope = scope,
                          .created_ms = now,
                          .expires_ms = lifetime_ms > 0 ? now + lifetime_ms : 0},
                .secret = {}};
  made.secret = fmt::format("{}{}_{}", kTokenPrefix, made.token.id, random_hex(kSecretDigits));
  if (!certificate.empty()) made.secret += "_" + certificate;
  const HashTurn turn;
  std::array<char, crypto_pwhash_argon2id_STRBYTES> text{};
  if (::crypto_pwhash_argon2id_str(text.data(), made.secret.data(), made.secret.size(), kHashPasses, kHashBytes) != 0)
    throw environment_error("[users] no memory to hash a token; try again");
  hash = text.data();
  return made;
}

void add_token(Database& database, const Token& token, const std::string& hash) {
  user(database, token.user);
  database.query(
      "INSERT INTO tokens (id, user_name, note, scope, hash, created_ms, expires_ms, used_ms) VALUES ($1, $2, $3, $4, "
      "$5, $6, $7, 0)",
      token.id, token.user, token.note, to_string(token.scope), hash, token.created_ms, token.expires_ms);
}

std::vector<Token> tokens(Database& database, const std::string& user) {
  std::vector<Token> all;
  for (const Row& row : database.query(fmt::format("{} WHERE user_name = $1 ORDER BY created_ms, id", kToken), user))
    all.push_back(token_of(row));
  return all;
}

void forget_expired_tokens(Database& database, const std::string& user) {
  database.query("DELETE FROM tokens WHERE user_name = $1 AND expires_ms > 0 AND expires_ms <= $2", user, now_ms());
}

void revoke_token(Database& database, const std::string& id) {
  if (database.query("DELETE FROM tokens WHERE id = $1 RETURNING id", id).empty())
    throw Refusal(RefusalKind::kNotFound, fmt::format("[users] no token '{}'", id.substr(0, kTokenIdDigits)));
}

void token_used(Database& database, const std::string& id, int64_t time_ms) {
  database.query("UPDATE tokens SET used_ms = $2 WHERE id = $1 AND used_ms < $2", id, time_ms);
}

bool looks_like_token(const std::string& secret) {
  const size_t end = kTokenPrefix.size() + kTokenIdDigits;
  const size_t whole = end + 1 + kSecretDigits;
  const bool names_service = secret.size() == whole + 1 + kCertificateDigits && secret[whole] == '_';
  if ((secret.size() != whole && !names_service) || !secret.starts_with(kTokenPrefix) || secret[end] != '_')
    return false;
  const std::string_view text = secret;
  return is_hex(text.substr(kTokenPrefix.size(), kTokenIdDigits)) && is_hex(text.substr(end + 1, kSecretDigits)) &&
         is_hex(text.substr(std::min(whole + 1, text.size())));
}

std::optional<KeptToken> token_in_force(Database& database, const std::string& id) {
  const auto row = database.first(fmt::format("{} WHERE id = $1", kToken), id);
  if (!row) return std::nullopt;
  KeptToken kept{token_of(*row), user(database, row->text(1)), row->text(7)};
  if (kept.user.disabled || (kept.token.expires_ms > 0 && kept.token.expires_ms <= now_ms())) return std::nullopt;
  return kept;
}

std::optional<KeptToken> kept_token(Database& database, const std::string& secret) {
  if (!looks_like_token(secret)) return std::nullopt;
  return token_in_force(database, secret.substr(kTokenPrefix.size(), kTokenIdDigits));
}

bool right_secret(const std::string& hash, const std::string& secret) {
  const HashTurn turn;
  return ::crypto_pwhash_argon2id_str_verify(hash.c_str(), secret.data(), secret.size()) == 0;
}

void audit(Database& database, const AuditEntry& entry) {
  database.query("INSERT INTO audit_log (time_ms, user_name, action, object, origin) VALUES ($1, $2, $3, $4, $5)",
                 entry.time_ms > 0 ? entry.time_ms : now_ms(), entry.user, entry.action, entry.object, entry.from);
}

std::vector<AuditEntry> audited(Database& database, int64_t limit) {
  std::vector<AuditEntry> all;
  for (const Row& row :
       database.query("SELECT time_ms, user_name, action, object, origin FROM audit_log ORDER BY number DESC "
                      "LIMIT $1",
                      limit))
    all.push_back({row.integer(0), row.text(1), row.text(2), row.text(3), row.text(4)});
  return all;
}

}  // namespace linac::catalog
