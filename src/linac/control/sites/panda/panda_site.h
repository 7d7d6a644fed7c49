#pragma once
// Sites of the kind panda: a launch is one task of PanDA, whose name is the launch's (docs/guide/launch.md).

#include <yaml-cpp/yaml.h>

#include <memory>
#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

std::unique_ptr<Site> make_panda_site(const YAML::Node& settings, const std::string& where, const std::string& name);
std::vector<config::Setting> panda_settings();

}  // namespace linac::sites
