#pragma once
// The run of a launch as files here, whatever keeps it. Errors and threads as in run_folder.h and fetch_run.h.

#include <filesystem>

#include "linac/control/sites/files/fetch_run.h"
#include "linac/control/sites/sites_file.h"

namespace linac::sites {

struct LaunchedRun {
  std::string label;  // the whole of it
  std::string out;    // as the launch has it
  RunFolder folder;   // of a run at an object store: its copy in the cache, which stays while this process lives
};

/// User error if there is no such launch, or its files cannot be reached from here.
LaunchedRun find_run(const LaunchName& name);

/// Brings what a report is made from into `into`. User error if the run has written nothing yet.
void fetch_record(const LaunchedRun& run, const std::filesystem::path& into);

}  // namespace linac::sites
