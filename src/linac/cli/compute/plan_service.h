#pragma once
// What a service knows for plans: where its jobs may run, and what its runs took. From the main thread only.

#include <optional>
#include <string>
#include <vector>

#include "linac/base/plan/past_run.h"
#include "linac/base/plan/places.h"

namespace linac::cli {

/// Whether it is an address, http://HOST or https://HOST.
bool is_service(const std::string& text);

/// Its host, its agents and the sites that take one's jobs. Refusals are errors in its own words; user error for an
/// answer that is none.
std::vector<plan::Offer> offers_at(const std::string& address);
/// Its runs that one may read, the newest ones: those of this work at any batch (`kin`: kin_digest()), with the
/// steps that the goal took, and all that were planned. `kin` empty: the latter alone.
std::vector<plan::PastRun> runs_at(const std::string& address, const std::string& kin,
                                   const std::optional<std::string>& goal);

}  // namespace linac::cli
