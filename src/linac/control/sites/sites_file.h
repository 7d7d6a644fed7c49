#pragma once
// The file in which a user names sites: `LINAC_SITES`, else $XDG_CONFIG_HOME/linac/sites.yaml, else
// ~/.config/linac/sites.yaml. A map from names to settings, each with its `kind`. Thread-safe functions.

#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

std::filesystem::path sites_file();

/// In the order of the file; none if there is no file. User error naming file, line and field.
std::vector<std::unique_ptr<Site>> read_sites();
std::vector<std::unique_ptr<Site>> parse_sites(const std::string& text, const std::string& where);

/// User error with the names that there are if it is none of them.
/// `changes`: settings of it that are others for this time, "environment.NAME" among them, and are checked as those of
/// the file.
std::unique_ptr<Site> find_site(const std::string& name, const std::map<std::string, std::string>& changes = {});

/// A site of that kind with all settings and their help, to be put into the file. User error for no kind.
std::string sample_site(const std::string& kind);

struct LaunchName {
  std::string site, label;  // the beginning of a label; empty: all of the site
};
/// "farm:topology", or of a launch at several sites "farm+k8s:topology" (parts.h); nothing if what stands before the
/// first ':' is no site: then it is something else, as the run of a service or a URL.
std::optional<LaunchName> launch_named(const std::string& text);

}  // namespace linac::sites
