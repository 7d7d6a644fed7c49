#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linac/base/base/clock.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/users.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/service_key.h"
#include "linac/control/service/things.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

namespace {

constexpr int64_t kDayMs = 24 * 3600 * 1000, kDaysMax = 3650;
constexpr size_t kTokensMax = 50;  // of a user

json user_json(const catalog::User& user) {
  return {{"name", user.name},
          {"role", catalog::to_string(user.role)},
          {"account", user.account},
          {"disabled", user.disabled},
          {"jobs_max", user.quota.jobs_max},
          {"cores_max", user.quota.cores_max},
          {"core_hours_max", user.quota.core_hours_max},
          {"created_ms", user.created_ms}};
}

json token_json(const catalog::Token& token) {
  return {{"id", token.id},
          {"user", token.user},
          {"note", token.note},
          {"scope", catalog::to_string(token.scope)},
          {"created_ms", token.created_ms},
          {"expires_ms", token.expires_ms},
          {"used_ms", token.used_ms}};
}

void read_quota(const Request& request, catalog::Quota& quota) {
  quota.jobs_max = request.integer("jobs_max", quota.jobs_max);
  quota.cores_max = request.integer("cores_max", quota.cores_max);
  quota.core_hours_max = request.number("core_hours_max", quota.core_hours_max);
}

/// The account that the request names. Root is no account by mistake: its jobs read what root alone may read.
std::string account_of(const Request& request) {
  std::string account = request.text("account");
  if (launch::is_root(account) && !request.flag("as_root"))
    throw Refusal(
        RefusalKind::kInvalid,
        fmt::format("[users] '{}' is root of this host; give another account, or say \"as_root\": true if jobs "
                    "shall be root's",
                    account));
  return account;
}

json listed(Database& database, Request&) {
  json users = json::array();
  for (const auto& user : catalog::users(database)) users.push_back(user_json(user));
  return {{"users", std::move(users)}};
}

json created(Database& database, Request& request) {
  catalog::User user;
  user.name = request.text("name");
  user.role = catalog::role(request.text("role", "member"));
  user.account = account_of(request);
  read_quota(request, user.quota);
  catalog::create_user(database, user);
  put_into_audit(database, request, "user.create", user.name);
  return user_json(catalog::user(database, user.name));
}

/// So that the catalog is never without somebody who may change it.
void keep_an_admin(Database& database) {
  for (const auto& user : catalog::users(database))
    if (user.role == catalog::Role::kAdmin && !user.disabled) return;
  throw Refusal(RefusalKind::kState, "[users] this is the last admin; make another one first");
}

/// "ann: role member -> viewer, disabled false -> true"
std::string told_change(const catalog::User& before, const catalog::User& after) {
  const json was = user_json(before), is = user_json(after);
  std::string told;
  for (const auto& [field, value] : is.items())
    if (was[field] != value)
      told += fmt::format("{} {} {} -> {}", told.empty() ? "" : ",", field, was[field].dump(), value.dump());
  return fmt::format("{}:{}", after.name, told.empty() ? " as it was" : told);
}

Handler change_user(Context& context, Authentication& authentication) {
  return [&context, &authentication](Request& request) -> Task<Response> {
    const std::string name = request.variable("name");
    const json answer = co_await writing(context, [&](Database& database) {
      const catalog::User before = catalog::user(database, name);
      catalog::User user = before;
      if (request.has("role")) user.role = catalog::role(request.text("role"));
      if (request.has("account")) user.account = account_of(request);
      if (request.has("disabled")) user.disabled = request.flag("disabled");
      read_quota(request, user.quota);
      catalog::change_user(database, user);
      keep_an_admin(database);
      put_into_audit(database, request, "user.change", told_change(before, user));
      return user_json(user);
    });
    authentication.forget(name);
    co_return Response::json(answer);
  };
}

json tokens_of(Database& database, Request& request) {
  const std::string& name = request.variable("name");
  json tokens = json::array();
  for (const auto& token : catalog::tokens(database, catalog::user(database, name).name))
    tokens.push_back(token_json(token));
  return {{"tokens", std::move(tokens)}};
}

catalog::Token token_of(Database& database, const std::string& user, const std::string& id) {
  for (catalog::Token& token : catalog::tokens(database, user))
    if (token.id == id) return token;
  throw Refusal(RefusalKind::kNotFound, fmt::format("[tokens] {} has no token '{}'", user, id));
}

/// How many more the user may have; kLimit if none, kNotFound for the user.
size_t room_for_token(Database& database, const std::string& name) {
  catalog::user(database, name);
  const auto tokens = catalog::tokens(database, name);
  const auto alive = static_cast<size_t>(std::count_if(tokens.begin(), tokens.end(), [](const catalog::Token& token) {
    return token.expires_ms == 0 || token.expires_ms > now_ms();
  }));
  if (alive < kTokensMax) return kTokensMax - alive;
  throw Refusal(RefusalKind::kLimit,
                fmt::format("[tokens] '{}' has {} tokens, which is the most; revoke one first", name, alive));
}

/// Of who makes or ends a token of this scope. An agent is given jobs with the secrets of their users, which no reader
/// sees: those of its user, whom a member could ask by a job, or those of all.
Access needed_for(catalog::Role scope) {
  if (scope == catalog::Role::kAgent) return Access::kMember;
  if (scope == catalog::Role::kSharedAgent) return Access::kAdmin;
  return access_of(scope);
}

Handler make_token(Context& context) {
  return [&context](Request& request) -> Task<Response> {
    const std::string name = request.variable("name");
    const int64_t days = request.integer("days", 0);
    if (days < 0 || days > kDaysMax)
      throw Refusal(RefusalKind::kInvalid,
                    fmt::format("[tokens] 'days' is {} (wanted: 1 to {}, or 0 for no end)", days, kDaysMax));
    const catalog::Role scope = catalog::scope_of_token(request.text("scope", to_string(request.caller.access)));
    if (needed_for(scope) > request.caller.access)
      throw Refusal(RefusalKind::kDenied, "[tokens] the scope is above what your own token may");
    co_await reading(context, [&](Database& database) { return room_for_token(database, name); });  // before the hash
    catalog::NewToken made;
    std::string hash;
    co_await aside(context, [&] {
      made = catalog::make_token(name, scope, days * kDayMs, request.text("note"), hash,
                                 certificate_of_tokens(context.data));
    });
    // Nobody outlives his own token by making another.
    int64_t& expires_ms = made.token.expires_ms;
    if (const int64_t own = request.caller.expires_ms; own != 0 && name == request.caller.user)
      expires_ms = expires_ms == 0 ? own : std::min(expires_ms, own);
    co_await writing(context, [&](Database& database) {
      catalog::forget_expired_tokens(database, name);
      room_for_token(database, name);
      catalog::add_token(database, made.token, hash);
      put_into_audit(database, request, "token.create", made.token.id);
    });
    json answer = token_json(made.token);
    answer["secret"] = made.secret;
    co_return Response::json(answer);
  };
}

Handler revoke(Context& context, Authentication& authentication) {
  return [&context, &authentication](Request& request) -> Task<Response> {
    const std::string name = request.variable("name"), id = request.variable("id");
    co_await writing(context, [&](Database& database) {
      const catalog::Token token = token_of(database, name, id);
      const catalog::Role role = catalog::user(database, name).role;
      if (needed_for(std::min(token.scope, role)) > request.caller.access)
        throw Refusal(RefusalKind::kDenied,
                      "[tokens] that token may more than the one you came with; use one that may as much");
      catalog::revoke_token(database, id);
      put_into_audit(database, request, "token.revoke", id);
    });
    authentication.forget_token(id);
    co_return Response::json(json::object());
  };
}

json audit_log(Database& database, Request& request) {
  const int64_t limit = request.integer("limit", 100);
  if (limit < 1 || limit > 10000) throw Refusal(RefusalKind::kInvalid, "[request] 'limit' is not within 1 to 10000");
  json entries = json::array();
  for (const auto& entry : catalog::audited(database, limit))
    entries.push_back({{"time_ms", entry.time_ms},
                       {"user", entry.user},
                       {"action", entry.action},
                       {"object", entry.object},
                       {"from", entry.from}});
  return {{"entries", std::move(entries)}};
}

}  // namespace

std::vector<Route> user_routes(Context& context, Authentication& authentication) {
  using enum Method;
  const auto route = [](Method method, const char* path, const char* name, const char* summary, Permission permission,
                        std::vector<FieldRule> fields, Handler handler) {
    Route route;
    route.method = method;
    route.pattern = std::string("/api/v1/") + path;
    route.name = name;
    route.summary = summary;
    route.access = permission.access;
    route.changes = permission.changes;
    route.reads = permission.reads;
    route.body = method == kPost || method == kPatch ? BodyKind::kJson : BodyKind::kNone;
    route.body_bytes_max = 16384;
    route.fields = std::move(fields);
    route.handler = std::move(handler);
    return route;
  };
  const Permission by_admins(Access::kAdmin, Changes::by_admins());
  const Permission all(Access::kAdmin, Reads::by_admins());
  const Permission own(Access::kViewer, Changes::of(by_variable(kUserThing, "name")));
  const FieldRule role{"role", FieldType::kText, false, "viewer, member or admin"};
  const FieldRule account{"account", FieldType::kText, false, "of the host, under which the user's jobs run"};
  const FieldRule as_root{"as_root", FieldType::kBoolean, false, "the account may be root's"};
  const FieldRule jobs{"jobs_max", FieldType::kInteger, false, "that wait or run; 0: no limit"};
  const FieldRule cores{"cores_max", FieldType::kInteger, false, "of running jobs together; 0: no limit"};
  const FieldRule core_hours{"core_hours_max", FieldType::kNumber, false,
                             "of a day; a GPU counts as 8 cores; 0: no limit"};
  return {
      route(kGet, "users", "list_users", "Who may use the service", all, {}, reads(context, listed)),
      route(kPost, "users", "create_user", "A new user", by_admins,
            {{"name", FieldType::kText, true, "a-z, 0-9, '.', '_', '-'"},
             role,
             account,
             as_root,
             jobs,
             cores,
             core_hours},
            writes(context, created)),
      route(kPatch, "users/{name}", "change_user", "Another role or account, or none of the service at all", by_admins,
            {role,
             account,
             as_root,
             {"disabled", FieldType::kBoolean, false, "keeps the user out"},
             jobs,
             cores,
             core_hours},
            change_user(context, authentication)),
      route(kGet, "users/{name}/tokens", "list_tokens", "A user's tokens, without their secrets",
            Permission(Access::kViewer, Reads::of(by_variable(kUserThing, "name"))), {}, reads(context, tokens_of)),
      route(kPost, "users/{name}/tokens", "create_token", "A new token; its secret is told this once", own,
            {{"scope", FieldType::kText, false,
              "the most it may: viewer, member, admin; or agent, shared-agent: takes work and reads nothing"},
             {"days", FieldType::kInteger, false, "until it ends; 0: never"},
             {"note", FieldType::kText, false, "what it is for"}},
            make_token(context)),
      route(kDelete, "users/{name}/tokens/{id}", "revoke_token", "Ends a token at once", own, {},
            revoke(context, authentication)),
      route(kGet, "audit", "list_audit", "What was changed by whom, newest first", all,
            {{"limit", FieldType::kInteger, false, "at most 10000"}}, reads(context, audit_log)),
  };
}

}  // namespace linac::service
