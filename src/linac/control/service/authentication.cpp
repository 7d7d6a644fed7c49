#include "linac/control/service/authentication.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/base64.h"
#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/control/service/catalog_access.h"
#include "linac/control/service/secrets.h"

namespace linac::service {
namespace {

constexpr std::string_view kCookie = "linac_session=";

std::string header(const std::map<std::string, std::string>& headers, const char* name) {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

std::string session_name(const std::map<std::string, std::string>& headers) {
  const std::string cookies = header(headers, "cookie");
  for (size_t from = 0; from < cookies.size();) {
    const size_t end = std::min(cookies.find(';', from), cookies.size());
    std::string_view cookie = std::string_view(cookies).substr(from, end - from);
    while (cookie.starts_with(' ')) cookie.remove_prefix(1);
    if (cookie.starts_with(kCookie)) return std::string(cookie.substr(kCookie.size()));
    from = end + 1;
  }
  return "";
}

bool begins_with_word(std::string_view text, std::string_view word) {
  if (text.size() <= word.size() || text[word.size()] != ' ') return false;
  return std::equal(word.begin(), word.end(), text.begin(),
                    [](char a, char b) { return a == (b >= 'A' && b <= 'Z' ? b - 'A' + 'a' : b); });
}

/// The token that an Authorization header carries; empty if it carries none.
std::string secret_of(const std::string& authorization) {
  if (begins_with_word(authorization, "bearer")) return authorization.substr(7);
  if (!begins_with_word(authorization, "basic")) return "";
  const std::string pair = base64_decoded(std::string_view(authorization).substr(6)).value_or("");
  const size_t colon = pair.find(':');
  return colon == std::string::npos ? "" : pair.substr(colon + 1);
}

Refusal unknown(const char* what) {
  return {RefusalKind::kUnknown, fmt::format("[login] {}; an admin makes tokens, `linac login` keeps one", what)};
}

}  // namespace

Access access_of(catalog::Role role) {
  switch (role) {
    case catalog::Role::kAgent:
    case catalog::Role::kSharedAgent:
      return Access::kAgent;
    case catalog::Role::kViewer:
      return Access::kViewer;
    case catalog::Role::kMember:
      return Access::kMember;
    case catalog::Role::kAdmin:
      return Access::kAdmin;
  }
  return Access::kOpen;
}

Caller caller_of(const catalog::KeptToken& kept) {
  const catalog::Role scope = kept.token.scope;
  Caller caller;
  caller.user = kept.user.name;
  caller.access = access_of(std::min(kept.user.role, scope));
  caller.account = kept.user.account;
  caller.for_all = kept.user.role == catalog::Role::kAdmin &&
                   (scope == catalog::Role::kSharedAgent || scope == catalog::Role::kAdmin);
  caller.token = kept.token.id;
  caller.expires_ms = kept.token.expires_ms;
  return caller;
}

std::optional<Authentication::Known> Authentication::remembered(const std::string& hash, int64_t now) {
  const std::lock_guard lock(mutex_);
  const auto found = known_.find(hash);
  if (found == known_.end()) return std::nullopt;
  if (found->second.until_ms <= now) {
    known_.erase(found);
    return std::nullopt;
  }
  return found->second;
}

void Authentication::count_failure(const std::string& from) {
  ++context_.failed_logins_total;
  note_aside(context_, failed_logins_.failed(from, now_ms()));
}

void Authentication::note_failures(bool all) {
  note_aside(context_, failed_logins_.over(now_ms(), all));
}

void Authentication::refuse_unknown(const std::string& from) {
  count_failure(from);
  if (!unknown_.take(from))
    throw Refusal(RefusalKind::kLimit, "[login] too many unknown tokens from this address; try in a minute");
  throw unknown("the token is not right, has expired, or its user is disabled");
}

bool Authentication::wrong_for_certain(const std::string& token, const std::string& hash) {
  const std::lock_guard lock(mutex_);
  const auto proven = proven_.find(token);
  return proven != proven_.end() && !same_secret(proven->second, hash);
}

Task<Authentication::Known> Authentication::by_token(const std::string& secret, const std::string& from) {
  const std::string hash = keyed_hash(secret);
  if (const auto known = remembered(hash, now_ms())) co_return *known;
  int64_t forgotten;
  {
    const std::lock_guard lock(mutex_);
    forgotten = forgotten_;
  }
  if (!catalog::looks_like_token(secret)) refuse_unknown(from);
  const std::optional<catalog::KeptToken> kept =
      co_await reading(context_, [&](catalog::Database& database) { return catalog::kept_token(database, secret); });
  if (!kept) refuse_unknown(from);
  bool right = !wrong_for_certain(kept->token.id, hash);
  if (right) {
    const std::string guessed = from + ' ' + kept->token.id;
    if (!unproven_.left(guessed))
      throw Refusal(RefusalKind::kLimit, "[login] too many wrong secrets of this token; try in a minute");
    co_await aside(context_, [&] { right = catalog::right_secret(kept->hash, secret); });
    if (!right) unproven_.take(guessed);
  }
  if (!right) {
    count_failure(from);
    throw unknown("the token is not right");
  }
  const int64_t now = now_ms();
  Known known{caller_of(*kept), now + kRememberedMs};
  if (kept->token.expires_ms != 0) known.until_ms = std::min(known.until_ms, kept->token.expires_ms);
  context_.catalog.write(
      [id = kept->token.id, now](catalog::Database& database) { catalog::token_used(database, id, now); },
      [](std::exception_ptr) {});  // nobody waits for it, or misses it
  const std::lock_guard lock(mutex_);
  if (known_.size() >= kRememberedMax) known_.clear();
  if (proven_.size() >= kRememberedMax) proven_.clear();
  if (forgotten == forgotten_) {
    known_[hash] = known;
    proven_[kept->token.id] = hash;
  }
  co_return known;
}

Task<Caller> Authentication::identify(Method method, const std::map<std::string, std::string>& headers,
                                      const std::string& from) {
  Caller caller;
  caller.from = from;
  if (!required_) {
    caller.user = "local";
    caller.access = Access::kAdmin;
    caller.for_all = true;
    co_return caller;
  }
  const std::string authorization = header(headers, "authorization");
  if (!authorization.empty()) {
    const std::string secret = secret_of(authorization);
    if (secret.empty()) throw unknown("the Authorization header holds no token");
    std::optional<Known> known = remembered(keyed_hash(secret), now_ms());
    if (!known) {
      known = co_await by_token(secret, from);
    }
    caller = std::move(known->caller);
    caller.from = from;
    caller.until_ms = caller.expires_ms;
    co_return caller;
  }
  const std::string name = session_name(headers);
  if (name.empty()) co_return caller;
  const auto session = sessions_.find(name, now_ms());
  if (!session) co_return caller;
  if (method != Method::kGet && !same_secret(header(headers, "x-csrf-token"), session->csrf))
    throw Refusal(RefusalKind::kDenied,
                  "[login] the request lacks its session's X-CSRF-Token; GET /api/v1/me tells it");
  caller = session->caller;
  caller.from = from;
  caller.session = keyed_hash(name);
  caller.until_ms = session->expires_ms;
  co_return caller;
}

Task<Authentication::Login> Authentication::login(const std::string& secret, const std::string& from) {
  const Known known = co_await by_token(secret, from);
  const std::string name = sessions_.begin(known.caller, now_ms(), known.caller.expires_ms);
  Login login;
  login.cookie =
      fmt::format("{}{}; HttpOnly; SameSite=Strict; Path=/; Max-Age={}", kCookie, name, Sessions::kLifetimeMs / 1000);
  login.csrf = sessions_.find(name, now_ms())->csrf;
  login.caller = known.caller;
  note_aside(context_, {{now_ms(), known.caller.user, "login", "token " + known.caller.token, from}});
  co_return login;
}

void Authentication::logout(const std::map<std::string, std::string>& headers) {
  const std::string name = session_name(headers), session = keyed_hash(name);
  sessions_.end(name);
  context_.hub.withdraw([&](const Pass& pass) { return pass.session == session; });
}

std::string Authentication::csrf(const std::map<std::string, std::string>& headers) {
  const auto session = sessions_.find(session_name(headers), now_ms());
  return session ? session->csrf : "";
}

void Authentication::forget(const std::string& user) {
  sessions_.end_all(user);
  {
    const std::lock_guard lock(mutex_);
    ++forgotten_;
    std::erase_if(known_, [&](const auto& item) { return item.second.caller.user == user; });
  }
  context_.hub.withdraw([&](const Pass& pass) { return pass.user == user; });
}

void Authentication::forget_token(const std::string& id) {
  sessions_.end_of_token(id);
  {
    const std::lock_guard lock(mutex_);
    ++forgotten_;
    proven_.erase(id);
    std::erase_if(known_, [&](const auto& item) { return item.second.caller.token == id; });
  }
  context_.hub.withdraw([&](const Pass& pass) { return pass.token == id; });
}

bool Authentication::still_good(catalog::Database& database, const Caller& caller) {
  if (!required_) return true;
  if (!caller.session.empty() && !sessions_.lives(caller.session, now_ms())) return false;
  const auto kept = catalog::token_in_force(database, caller.token);
  return kept && caller_of(*kept).access == caller.access;
}

}  // namespace linac::service
