#pragma once
// Whether a launch could begin at a cluster, asked of the cluster itself: who we are, what we may do, and whether it
// would take such a Job (a dry run there, which makes nothing). Thread-safe.

#include <string>
#include <vector>

#include "linac/control/sites/kubernetes/settings.h"

namespace linac::sites {

std::vector<Finding> check_cluster(const KubernetesSettings& settings, const std::string& place, const job::Job* job);

}  // namespace linac::sites
