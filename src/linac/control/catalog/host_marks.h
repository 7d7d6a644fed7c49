#pragma once
// Hosts that computed wrongly, as audits of runs (docs/guide/audit.md) and admins say: jobs keep away from them until
// the mark is cleared. What a run says of a host binds the jobs of its own user alone, or else anybody's run could take
// a host from all; what an admin or his run says binds everybody's. Functions work within the transaction that they are
// given.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/control/catalog/database.h"

namespace linac::catalog {

struct HostMark {
  std::string host;    // as it calls itself
  std::string user;    // whose jobs keep away; "": everybody's
  std::string worker;  // "rank 1, process 77"; "": not said
  std::string core;    // "3"; "": not known
  std::string what;    // where its results begin to differ
  std::string run;     // whose audit found it; "": an admin's word
  int64_t marked_ms = 0;

  bool binds(const std::string& users_job) const { return user.empty() || user == users_job; }
};

constexpr size_t kHostMarksMax = 1000;  // of a user, and of all

/// In place of a former one of the same host and `user`. Of its words 200 printable letters stay. kInvalid for a host
/// without a name or with one that none can have, kLimit beyond kHostMarksMax.
void mark_host(Database& database, HostMark mark);
/// By host.
std::vector<HostMark> host_marks(Database& database);
/// Names of those that the user's jobs keep away from.
std::vector<std::string> hosts_to_avoid(Database& database, const std::string& user);
/// All marks of the host. kNotFound if there is none.
void clear_host(Database& database, const std::string& host);

}  // namespace linac::catalog
