#include "linac/control/service/upkeep.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/control/catalog/integrity.h"
#include "linac/control/catalog/users.h"
#include "linac/control/service/data_folder.h"
#include "linac/control/service/service_key.h"

namespace linac::service {
namespace {

constexpr int64_t kDayMs = 24 * 3600 * 1000;

void need_catalog(const std::filesystem::path& data, const std::string& database) {
  if (database.empty() && !std::filesystem::exists(data / kDatabaseFile))
    throw user_error(fmt::format("[serve] {}: holds no catalog; give the service's --data (or --db)", data.string()));
}

catalog::User admin_of(catalog::Database& database) {
  for (const catalog::User& user : catalog::users(database))
    if (user.role == catalog::Role::kAdmin && !user.disabled) return user;
  throw user_error("[serve] no admin who is not disabled; name a user with --user");
}

}  // namespace

std::string token_of_host(const std::filesystem::path& data, const std::string& database, const std::string& name,
                          int64_t days, bool alone) {
  need_catalog(data, database);
  std::string secret;
  const std::string certificate = certificate_of_tokens(data);
  catalog::change_beside_service(catalog_url(data, database), [&](catalog::Database& d) {
    const catalog::User user = name.empty() ? admin_of(d) : catalog::user(d, name);
    if (user.disabled) throw user_error(fmt::format("[serve] '{}' is disabled; an admin changes that", user.name));
    std::string hash;
    const catalog::NewToken made =
        catalog::make_token(user.name, user.role, days * kDayMs, "made on the host", hash, certificate);
    if (alone)
      for (const catalog::Token& former : catalog::tokens(d, user.name)) catalog::revoke_token(d, former.id);
    catalog::add_token(d, made.token, hash);
    catalog::audit(d, {now_ms(), user.name, alone ? "token.renew" : "token.create", made.token.id, "this host"});
    secret = made.secret;
  });
  return secret;
}

std::vector<std::string> check_catalog(const std::filesystem::path& data, const std::string& database) {
  need_catalog(data, database);
  return catalog::damage_of(catalog_url(data, database));
}

}  // namespace linac::service
