#pragma once
// What somebody asks `linac spawn` for becomes a launch (launching.h starts it). Reads the user's files; thread-safe.

#include <optional>
#include <string>
#include <vector>

#include "linac/sites/site.h"

namespace linac::sites {

struct SpawnWishes {
  std::string script;  // path
  std::vector<std::string> arguments;
  std::string name;  // of the launch; empty: a new one
  int workers = 2, ps = 0;
  bool chief = false;
  std::string env_file, entry_file, pod_file;  // paths; empty: none
  std::vector<std::string> pip;                // a file of requirements, or packages
  std::vector<std::string> data;
  std::string trial;  // an argument
  std::string time;   // "4h"; empty: what the site says
  int restarts = 2, port = 0;
};

/// User error for what can be no launch there.
Launch make_spawn(const Site& site, const SpawnWishes& wishes);

}  // namespace linac::sites
