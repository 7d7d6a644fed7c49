#include "linac/control/service/user_secrets.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>

#include "linac/base/base/refusal.h"
#include "linac/control/catalog/secrets.h"

namespace linac::service {
namespace {

SealedFor place_of(const catalog::Secret& secret) {
  return {secret.user, secret.name, catalog::to_string(secret.kind)};
}

std::string why_missing(const std::string& user, const std::vector<std::string>& missing) {
  if (missing.empty()) return "";
  return fmt::format("[secrets] '{}' has no secret {}, which the job asks for; `linac secrets set {}`, or leave it out",
                     user, fmt::join(missing, ", "), missing.front());
}

struct Found {
  std::vector<catalog::Secret> secrets;
  std::vector<std::string> missing;
};

Found find(catalog::Database& database, const std::string& user, const std::vector<std::string>& names) {
  Found found;
  if (names.empty()) return found;
  const std::vector<catalog::Secret> all = catalog::secrets(database, user);
  for (const std::string& name : names) {
    const auto secret =
        std::find_if(all.begin(), all.end(), [&](const catalog::Secret& one) { return one.name == name; });
    if (secret == all.end())
      found.missing.push_back(name);
    else
      found.secrets.push_back(*secret);
  }
  return found;
}

}  // namespace

std::string why_no_secrets(catalog::Database& database, const std::string& user,
                           const std::vector<std::string>& names) {
  return why_missing(user, find(database, user, names).missing);
}

execution::GivenSecrets given_secrets(catalog::Database& database, const SecretBox& box, const std::string& user,
                                      const std::vector<std::string>& names) {
  const Found found = find(database, user, names);
  execution::GivenSecrets given;
  given.problem = why_missing(user, found.missing);
  for (const catalog::Secret& secret : found.secrets) {
    try {
      given.secrets.push_back(
          {secret.name, box.open(place_of(secret), secret.sealed), secret.kind == catalog::SecretKind::kFile});
    } catch (const Error& error) {
      if (given.problem.empty()) given.problem = error.what();
    }
  }
  return given;
}

ResealedSecrets reseal(catalog::Database& database, const SecretBox& box, bool drop_unreadable) {
  struct Opened {
    catalog::Secret secret;
    std::optional<std::string> value;
  };
  std::vector<Opened> all;
  std::string first;
  ResealedSecrets resealed;
  for (catalog::Secret& secret : catalog::all_secrets(database)) {
    Opened& one = all.emplace_back(Opened{std::move(secret), std::nullopt});
    try {
      one.value = box.open(place_of(one.secret), one.secret.sealed);
      ++resealed.count;
    } catch (const Error& error) {
      if (first.empty()) first = error.what();
      ++resealed.dropped;
    }
  }
  if (resealed.dropped > 0 && !drop_unreadable)
    throw Refusal(RefusalKind::kState, fmt::format("[secrets] {} of {} do not open, the key stays as it is: {}",
                                                   resealed.dropped, all.size(), first));
  box.add_key();
  for (const Opened& one : all) {
    if (one.value)
      catalog::seal_again(database, one.secret, box.seal(place_of(one.secret), *one.value, true));
    else
      catalog::remove_secret(database, one.secret.user, one.secret.name);
  }
  return resealed;
}

}  // namespace linac::service
