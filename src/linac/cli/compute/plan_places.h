#pragma once
// Which places a plan is asked for: this host, sites of sites.yaml, and what a service offers. From the main thread
// only.

#include <string>
#include <vector>

#include "linac/base/plan/places.h"

namespace linac::cli {

/// `names`: of sites, "all" for each of them, or the address of a service, whose host, agents and declared sites are
/// meant. User error naming the site that is not there.
std::vector<plan::Offer> offers_of(const std::vector<std::string>& names, bool here);

}  // namespace linac::cli
