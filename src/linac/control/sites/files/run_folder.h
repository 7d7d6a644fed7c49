#pragma once
// The folder of a run as a shell sees it: here, on a disk that hosts share, or behind ssh. Names in it are a
// stranger's: what is no harmless path (base/base/safe_path.h) is told and passed by; links and what is no regular file
// are left out. A run may go on meanwhile, so a file is what it was when it was listed: of one that grows, its first
// bytes. Thread-safe. Environment errors as shells have them.

#include <cstdint>
#include <string>
#include <vector>

#include "linac/control/sites/shell.h"
#include "linac/control/sites/site.h"

namespace linac::sites {

struct RunFolder {
  Shell shell;
  std::string path;
};

struct RunFile {
  std::string name;  // below the folder
  int64_t bytes = 0;
  std::string place = name;  // below the folder here that it is fetched into
};

struct RunListing {
  std::vector<RunFile> files;        // by name
  std::vector<std::string> refused;  // names, in a form that can be printed
};

/// Of the hosts that can be reached, the one whose record is the longest: workers that share no folder keep it each.
/// User error where no shell leads to the run's files, or the launch is a script's.
RunFolder folder_of_run(const Site& site, const Record& record);

/// How many bytes of the record are there; -1 where there is none.
int64_t length_of_record(const RunFolder& folder);

/// What lies there; of a run in its launch's folder not what belongs to the launch. None where there is no folder.
RunListing list_run(const RunFolder& folder);

/// SHA-256, hexadecimal, of the first `bytes` of each; "" for one that is not there or is shorter.
std::vector<std::string> sums_of(const RunFolder& folder, const std::vector<RunFile>& files);

/// Lines of shell that go there; `otherwise` where it is not.
std::string enter_run_script(const RunFolder& folder, const std::string& otherwise);

}  // namespace linac::sites
