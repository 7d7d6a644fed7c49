#pragma once
// Clusters of Kubernetes, by their own interface over https; kubectl is not needed. A launch is one Indexed Job and
// what it needs (manifests.h). The Job is made first, suspended, and let go when all the rest is there and belongs to
// it: a client that dies in between leaves something that costs nothing, that the next one finds by its name, and that
// goes as a whole. Nothing is left at the cluster after `cancel`.

#include "linac/control/sites/site.h"

namespace linac::sites {

std::unique_ptr<Site> make_kubernetes_site(const YAML::Node& settings, const std::string& where,
                                           const std::string& name);
std::vector<config::Setting> kubernetes_settings();
/// What the cluster's administrator is to be asked for: lines that begin with '#'.
std::string kubernetes_notes();

}  // namespace linac::sites
