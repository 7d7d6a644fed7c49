#pragma once
// What somebody asks `linac spawn` for becomes a launch (launching.h starts it). Reads the user's files; thread-safe.

#include <string>
#include <vector>

#include "linac/control/sites/script/script.h"
#include "linac/control/sites/site.h"

namespace linac::sites {

struct SpawnWishes {
  SpawnWishes() { script.workers = 2; }

  std::string file;                            // of the script
  Script script;                               // but for what is in files
  std::string name;                            // of the launch; empty: a new one
  std::string env_file, entry_file, pod_file;  // paths; empty: none
  std::vector<std::string> pip;                // a file of requirements, or packages
  std::string time;                            // "4h"; empty: what the site says
};

/// User error for what can be no launch there.
Launch make_spawn(const Site& site, const SpawnWishes& wishes);

}  // namespace linac::sites
