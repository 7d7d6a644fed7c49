#pragma once
// The one decision on who may do what to whose thing. Asked in front of all handlers (service/ownership.h), and asked
// again when what was let in before begins or goes on in somebody's name: at each start of an attempt and while it runs
// (execution/running_attempt.h), when an agent is handed work, and for each stream of news. Pure, but for person().

#include <string>

#include "linac/control/catalog/users.h"
#include "linac/control/catalog/visibility.h"

namespace linac::catalog {

enum class Action {
  kRead,    // its owner, admins; everybody if it is shared
  kChange,  // its owner, admins
  kGoOn,    // a job in its owner's name, that runs: unless he is disabled
  kBegin    // the same, that is to be started: a member or an admin
};

/// Somebody as he is now.
struct Person {
  std::string name;
  Role role = Role::kViewer;
  bool disabled = false;
};

bool may(const Person& person, Action action, const Audience& thing);

/// By the catalog. A name that no user has is of a service without users, where everybody is an admin.
Person person(Database& database, const std::string& name);
Person person(const User& user);
/// Who asks now: his role was looked at.
Person person(const Viewer& viewer);

/// Why a job of his may not begin, or go on; "" if it may.
std::string why_no_job(const Person& owner, Action action);

}  // namespace linac::catalog
