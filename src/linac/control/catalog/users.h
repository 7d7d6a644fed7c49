#pragma once
// Users, their roles and tokens, and the audit log. Of a token only an argon2id hash is kept (libsodium, RFC 9106); a
// token reads "linac_<id>_<secret>", or "linac_<id>_<secret>_<certificate>" with the fingerprint of that by which the
// service proves itself (control/http/server/own_certificate.h), so one row is looked up and one hash computed. A hash
// costs some 50 ms on purpose; who checks many requests remembers what was right (service/).

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

enum class Role {
  // Of tokens alone: they take work and hand it in (control/launch/pilots), and read nothing.
  kAgent,        // its user's jobs
  kSharedAgent,  // everybody's, while its user is an admin
  kViewer,
  kMember,
  kAdmin
};
const char* to_string(Role role);              // "viewer"
Role role(const std::string& word);            // kInvalid, also for those of tokens alone
Role scope_of_token(const std::string& word);  // kInvalid

/// What a user may have at most; 0: no limit.
struct Quota {
  int64_t jobs_max = 0;       // waiting or running
  int64_t cores_max = 0;      // of those that run
  double core_hours_max = 0;  // of the last day; a GPU counts as 8 cores (queue.h)
  friend bool operator==(const Quota&, const Quota&) = default;
};

struct User {
  std::string name;
  Role role = Role::kMember;
  std::string account;  // of the host, under which jobs run; empty: none
  bool disabled = false;
  Quota quota;
  int64_t created_ms = 0;
};

/// Names are 1-64 of a-z, 0-9, '.', '_', '-'; kInvalid else and for a negative quota, kExists if
/// taken.
void create_user(Database& database, const User& user);
User user(Database& database, const std::string& name);  // kNotFound
std::vector<User> users(Database& database);
void change_user(Database& database, const User& user);  // kNotFound

struct Token {
  std::string id, user, note;
  Role scope = Role::kMember;                           // what it may at most, whatever the user's role
  int64_t created_ms = 0, expires_ms = 0, used_ms = 0;  // 0: never
};
struct NewToken {
  Token token;
  std::string secret;  // whole: shown once
};
/// `lifetime_ms` 0: does not expire. `certificate`: of the service, 64 hexadecimal digits, or "". The hash is
/// computed before, outside of any transaction, by make_token().
NewToken make_token(const std::string& user, Role scope, int64_t lifetime_ms, const std::string& note,
                    std::string& hash, const std::string& certificate = "");
void add_token(Database& database, const Token& token, const std::string& hash);
std::vector<Token> tokens(Database& database, const std::string& user);
/// Removes those of the user whose time is over.
void forget_expired_tokens(Database& database, const std::string& user);
void revoke_token(Database& database, const std::string& id);  // kNotFound
/// Notes the time of its newest use.
void token_used(Database& database, const std::string& id, int64_t time_ms);

/// What is kept of a token.
struct KeptToken {
  Token token;
  User user;
  std::string hash;
};
/// Nothing for a token that is not known, revoked or expired, and for one of a disabled user.
std::optional<KeptToken> token_in_force(Database& database, const std::string& id);
/// That of the token that `secret` names, to be compared by right_secret() outside of the transaction.
bool looks_like_token(const std::string& secret);  // "linac_<id>_<secret>[_<certificate>]"
std::optional<KeptToken> kept_token(Database& database, const std::string& secret);
bool right_secret(const std::string& hash, const std::string& secret);

struct AuditEntry {
  int64_t time_ms = 0;
  std::string user, action, object, from;  // "token.create", "cern-42", "127.0.0.1"
};
void audit(Database& database, const AuditEntry& entry);
std::vector<AuditEntry> audited(Database& database, int64_t limit);

}  // namespace linac::catalog
