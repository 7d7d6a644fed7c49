#pragma once
// The secrets of users, as their jobs get them: sealed in the catalog, opened by the box. Thread-safe; each function
// works within the transaction that it is given.

#include <string>
#include <vector>

#include "linac/control/catalog/database.h"
#include "linac/control/execution/running_attempt.h"
#include "linac/control/service/secret_box.h"

namespace linac::service {

/// Why the user's jobs cannot have secrets of all these names, and the way out; "" if he has set them. Looks at no
/// value.
std::string why_no_secrets(catalog::Database& database, const std::string& user, const std::vector<std::string>& names);

/// Those that there are, and why not all.
execution::GivenSecrets given_secrets(catalog::Database& database, const SecretBox& box, const std::string& user,
                                      const std::vector<std::string>& names);

struct ResealedSecrets {
  int64_t count = 0;    // that are under the new key
  int64_t dropped = 0;  // that nobody can open any longer
};
/// Puts all under a new key, within a transaction that writes; the former ones are to be forgotten after its commit.
/// kState if some do not open and `drop_unreadable` does not let them go; nothing is changed then.
ResealedSecrets reseal(catalog::Database& database, const SecretBox& box, bool drop_unreadable);

}  // namespace linac::service
