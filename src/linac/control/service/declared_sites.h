#pragma once
// The sites that an admin has declared for the queue (`linac serve --sites FILE`): who may send jobs there, and what
// carries them out. What the file says beside names and kinds is told to nobody, but for `plan` of a site: that is for
// plans of those who may send jobs there. Thread-safe.

#include <filesystem>
#include <map>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linac/control/launch/sites/site_launcher.h"
#include "linac/control/service/http_words.h"
#include "linac/control/sites/site.h"

namespace linac::service {

class DeclaredSites {
 public:
  /// None for no file. User error for a file that declares none, one with a name that is another place's, or one that
  /// is this host's and open to users, unless `trust_jobs`: their jobs would run there as the service.
  DeclaredSites(const std::filesystem::path& file, bool trust_jobs);

  /// Refuses a place that is none of the queue, or whose site does not take this caller's jobs.
  void check(const std::string& place, const Caller& caller) const;
  /// Null for a place that is none of them.
  std::shared_ptr<const sites::Site> find(const std::string& place) const;
  /// Those that take the caller's jobs.
  std::vector<std::shared_ptr<const sites::Site>> open_to(const Caller& caller) const;
  /// What the caller may name: [{"name", "kind"}].
  nlohmann::json shown_to(const Caller& caller) const;
  std::map<std::string, std::unique_ptr<launch::Launcher>> launchers(
      const launch::SiteLauncherSettings& settings) const;

 private:
  std::vector<std::shared_ptr<const sites::Site>> sites_;
};

/// What of this job, resolved, goes beyond its own budget or the memory that the site's entry tells of; empty: nothing.
/// Asks nobody.
std::string why_too_much(const sites::Site& site, const std::string& job);

/// That, or what else keeps the job from beginning there; empty: nothing is known to, or the site cannot be asked now.
/// Takes as long as the site's network does.
std::string why_not_there(const sites::Site& site, const std::string& job);

}  // namespace linac::service
