// Users' secrets over HTTP. Nobody names another's: the routes know the caller's own and no others, admins' too, and
// none answers with a value.

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "linac/base/base/base64.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"
#include "linac/base/job/secret_names.h"
#include "linac/control/catalog/secrets.h"
#include "linac/control/service/handlers.h"
#include "linac/control/service/routes/table.h"
#include "linac/control/service/things.h"
#include "linac/control/service/user_secrets.h"

namespace linac::service {
namespace {

using catalog::Database;
using nlohmann::json;

// As a variable it stands beside all others of a process, for which Linux has some room; a file is read by programs.
constexpr size_t kVariableBytesMax = 16 << 10, kFileBytesMax = 64 << 10;
constexpr size_t kBodyBytesMax = 128 << 10;

Refusal invalid(const std::string& what) {
  return {RefusalKind::kInvalid, "[secrets] " + what};
}

json secret_json(const catalog::Secret& secret, const SecretBox& box) {
  return {{"name", secret.name},
          {"as", catalog::to_string(secret.kind)},
          {"bytes", secret.size},
          {"created_ms", secret.created_ms},
          {"changed_ms", secret.changed_ms},
          {"used_ms", secret.used_ms},
          {"readable", box.has_key_of(secret.sealed)}};
}

std::string value_of(const Request& request) {
  if (request.has("value") == request.has("value_base64"))
    throw invalid("give the value as one of 'value' and 'value_base64'");
  if (request.has("value")) return request.text("value");
  const std::string value = base64_decoded(request.text("value_base64")).value_or("");
  if (value.empty()) throw invalid("'value_base64' is no base64, or empty");
  return value;
}

void check_value(const std::string& value, catalog::SecretKind kind) {
  const bool file = kind == catalog::SecretKind::kFile;
  const size_t bytes_max = file ? kFileBytesMax : kVariableBytesMax;
  if (value.empty()) throw invalid("the value is empty; `linac secrets remove` takes a secret away");
  if (value.size() > bytes_max)
    throw invalid(fmt::format("the value has {} bytes; {} of {} are the most", value.size(),
                              file ? "a file" : "a variable", bytes_max));
  // A variable of several lines would show its later ones where variables are listed, and no key of a store has any.
  if (!file && value.find_first_of(std::string_view("\0\n\r", 3)) != std::string::npos)
    throw invalid(
        "the value has several lines, or zero bytes, which no variable can have; set it as a file (--as file)");
  if (!file && !valid_text(value)) throw invalid("the value is no text; set it as a file (--as file)");
}

Handler sets(Context& context, const SecretBox& box) {
  return writes(context, [&box](Database& database, Request& request) -> json {
    catalog::Secret secret;
    secret.user = request.caller.user;
    secret.name = request.variable("secret");
    if (const std::string why = job::why_no_secret_name(secret.name); !why.empty())
      throw invalid(fmt::format("'{}': {}", printable(secret.name), why));
    secret.kind = request.has("as")
                      ? catalog::secret_kind(request.text("as"))
                      : (job::names_a_file(secret.name) ? catalog::SecretKind::kFile : catalog::SecretKind::kVariable);
    const std::string value = value_of(request);
    check_value(value, secret.kind);
    secret.size = static_cast<int64_t>(value.size());
    secret.sealed =
        box.seal({secret.user, secret.name, catalog::to_string(secret.kind)}, value, catalog::any_secret(database));
    catalog::set_secret(database, secret);
    put_into_audit(database, request, "secret.set", secret.name);
    return {{"name", secret.name}, {"as", catalog::to_string(secret.kind)}, {"bytes", secret.size}};
  });
}

json listed(Database& database, const Request& request, const SecretBox& box) {
  json all = json::array();
  for (const catalog::Secret& secret : catalog::secrets(database, request.caller.user))
    all.push_back(secret_json(secret, box));
  return {{"secrets", std::move(all)}};
}

json removed(Database& database, Request& request) {
  const std::string& name = request.variable("secret");
  catalog::remove_secret(database, request.caller.user, name);
  put_into_audit(database, request, "secret.remove", name);
  return json::object();
}

Handler rotates(Context& context, const SecretBox& box) {
  return [&context, &box](Request& request) -> Task<Response> {
    const ResealedSecrets resealed = co_await writing(context, [&](Database& database) {
      const ResealedSecrets done = reseal(database, box, request.flag("drop_unreadable"));
      put_into_audit(database, request, "secret.rotate-key", fmt::format("{} secrets", done.count));
      return done;
    });
    // On the thread that seals: nobody adds a key meanwhile.
    co_await writing(context, [&](Database&) { box.forget_former_keys(); });
    co_return Response::json({{"count", resealed.count}, {"dropped", resealed.dropped}});
  };
}

}  // namespace

std::vector<Route> secret_routes(Context& context, const SecretBox& box) {
  const Changes::Find own = [](const Request& request) {
    return std::vector<Thing>{{kUserThing, request.caller.user}};
  };
  const FieldRule value{"value", FieldType::kText, false, "which no answer ever has"};
  const FieldRule encoded{"value_base64", FieldType::kText, false, "the same for what is no text"};
  const FieldRule as{"as", FieldType::kText, false,
                     "env: a variable of the name; file: a file whose path the variable has; else as the name says"};
  const FieldRule drop{"drop_unreadable", FieldType::kBoolean, false, "those that no key opens are removed"};
  return {
      showing(Reads::nothing(), {Method::kGet,
                                 "/api/v1/secrets",
                                 "list_secrets",
                                 "The caller's own secrets: names, kinds and dates, without their values",
                                 Access::kMember,
                                 BodyKind::kNone,
                                 {},
                                 reads(context, [&box](Database& database,
                                                       Request& request) { return listed(database, request, box); })}),
      changing(Changes::of(own), {Method::kPut,
                                  "/api/v1/secrets/{secret}",
                                  "set_secret",
                                  "Keeps a secret of the caller's for his jobs, sealed; its value is told to nobody",
                                  Access::kMember,
                                  BodyKind::kJson,
                                  {value, encoded, as},
                                  sets(context, box),
                                  kBodyBytesMax}),
      changing(Changes::of(own), {Method::kDelete,
                                  "/api/v1/secrets/{secret}",
                                  "remove_secret",
                                  "Forgets a secret of the caller's; jobs that ask for it and wait will be refused",
                                  Access::kMember,
                                  BodyKind::kNone,
                                  {},
                                  writes(context, removed)}),
      changing(Changes::by_admins(), {Method::kPost,
                                      "/api/v1/secrets/rotate-key",
                                      "rotate_secrets_key",
                                      "Seals the secrets of all users with a new key; the former one is forgotten",
                                      Access::kAdmin,
                                      BodyKind::kJson,
                                      {drop},
                                      rotates(context, box)}),
  };
}

}  // namespace linac::service
