#pragma once
// Who is calling: by a token ("Authorization: Bearer linac_...", or Basic with the token as password, as MLflow's
// client sends either) or by a browser's session (cookie; requests that change something also carry its X-CSRF-Token).
// A token that was right is remembered by a keyed hash for kRememberedMs, so its slow hash is computed once a minute.
// Guesses are slowed in a way that keeps nobody else out: what is no token of the service by the address that sends it,
// wrong secrets of a token by address and token, and once its secret is known they cost nothing. Thread-safe.

#include <mutex>
#include <string>
#include <unordered_map>

#include "linac/control/catalog/users.h"
#include "linac/control/http/rate_limit.h"
#include "linac/control/service/context.h"
#include "linac/control/service/failed_logins.h"
#include "linac/control/service/http_words.h"
#include "linac/control/service/sessions.h"

namespace linac::service {

/// What somebody of this role may.
Access access_of(catalog::Role role);
/// Who comes with this token, and what he may now; from nowhere yet.
Caller caller_of(const catalog::KeptToken& kept);

class Authentication {
 public:
  /// `required` false: every caller is the admin "local".
  Authentication(Context& context, bool required) : context_(context), required_(required) {}

  /// The caller; kOpen is what he may if nothing was sent to know him by. kUnknown for a wrong or expired token or
  /// session, kDenied for a missing CSRF token, kLimit after many unknown ones from the same address. `headers` by
  /// lower-case name.
  Task<Caller> identify(Method method, const std::map<std::string, std::string>& headers, const std::string& from);

  struct Login {
    std::string cookie;  // value of Set-Cookie, but for "Secure"
    std::string csrf;
    Caller caller;
  };
  Task<Login> login(const std::string& secret, const std::string& from);
  void logout(const std::map<std::string, std::string>& headers);
  /// The session's CSRF token, empty without a session.
  std::string csrf(const std::map<std::string, std::string>& headers);
  /// After a change of the user's role or tokens: nothing about him is remembered.
  void forget(const std::string& user);
  /// After a token was revoked: it and what began with it.
  void forget_token(const std::string& id);
  /// Whether what he came with is still good, by the catalog and the sessions of now.
  bool still_good(catalog::Database& database, const Caller& caller);
  bool required() const { return required_; }
  /// Puts wrong tokens of minutes that are over into the audit log; `all`: of those that go on as well.
  void note_failures(bool all = false);

  static constexpr int64_t kRememberedMs = 60'000;
  static constexpr size_t kRememberedMax = 10000;

 private:
  struct Known {
    Caller caller;
    int64_t until_ms = 0;
  };
  [[noreturn]] void refuse_unknown(const std::string& from);
  void count_failure(const std::string& from);
  /// The secret of this token is another one.
  bool wrong_for_certain(const std::string& token, const std::string& hash);
  Task<Known> by_token(const std::string& secret, const std::string& from);
  std::optional<Known> remembered(const std::string& hash, int64_t now);

  Context& context_;
  const bool required_;
  Sessions sessions_;
  FailedLogins failed_logins_;
  http::RateLimit unknown_{10.0 / 60, 20};   // by address: tokens that there are not
  http::RateLimit unproven_{10.0 / 60, 20};  // by address and token: wrong secrets of one that was never right yet
  std::mutex mutex_;
  std::unordered_map<std::string, Known> known_;         // by the keyed hash of the secret
  std::unordered_map<std::string, std::string> proven_;  // keyed hashes of secrets that were right, by token
  int64_t forgotten_ = 0;  // counts calls of forget(): what was looked up before one is not remembered after it
};

}  // namespace linac::service
