#pragma once
// What a user has launched, as this user's files: $XDG_STATE_HOME/linac/launches/SITE/LABEL.json, else below
// ~/.local/state. Each is written before anything is submitted, so that a launch whose client died is found again by
// the next one. Only their owner can read them: they hold the keys of runs. Thread-safe for different launches; two
// processes may write at the same time, whole files.

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/control/sites/site.h"

namespace linac::sites {

struct KeptLaunch {
  Record record;
  Launch launch;           // without the script; of one also without the job
  bool submitted = false;  // else nobody knows yet whether the place has it
  std::string digest;      // of job, workers and all else that makes it this launch
  int64_t started_ms = 0;
  std::string ended;  // the state in which it ended, once that is known
};

/// As those files have it.
nlohmann::json to_json(const KeptLaunch& launch);
/// Throws nlohmann::json::exception for what to_json() does not write.
KeptLaunch kept_from_json(const nlohmann::json& json);

/// Environment error if it cannot be written.
void keep(const KeptLaunch& launch);

/// As if there had never been such a launch.
void forget(const Record& record);

/// The launches at a site, the latest first. Files that are none are passed by.
std::vector<KeptLaunch> kept_launches(const std::string& site);

/// The one of that label, or the latest whose label begins so. User error if there is none, or, with `only_one`, if
/// several begin so.
KeptLaunch find_launch(const std::string& site, const std::string& label, bool only_one);

/// While it lives, no other process of this user and host has it.
class LaunchLock {
 public:
  /// Waits for whoever has it.
  explicit LaunchLock(const std::string& site);

 private:
  Descriptor file_;
};

}  // namespace linac::sites
