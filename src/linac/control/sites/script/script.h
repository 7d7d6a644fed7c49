#pragma once
// A user's Python script as what a launch runs in place of linac: `linac spawn`. A value.

#include <map>
#include <string>
#include <vector>

namespace linac::sites {

/// How a worker ends whose script failed for good (EX_SOFTWARE of sysexits.h).
inline constexpr int kScriptFailed = 70;

struct Script {
  std::string name;  // of its file, for people: printable
  std::string text;
  std::vector<std::string> arguments;
  std::string entry;                               // bash that starts it; empty: Python does
  std::string requirements;                        // lines for pip
  std::vector<std::string> data;                   // paths of that place, or URLs
  std::map<std::string, std::string> environment;  // of the user's env file: secret
  bool chief = false;
  int workers = 1;  // besides the chief
  int ps = 0;
  int restarts = 2;   // of all workers, after failures
  int port = 0;       // 0: one that is free; under Kubernetes TF-Spawner's
  std::string trial;  // its argument for one step, "" if it offers none
  std::string pod;    // a pod of Kubernetes that the workers are like (YAML)
};

}  // namespace linac::sites
