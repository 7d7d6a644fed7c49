#pragma once
// The files of a launch's run as the verb `artifacts` has them. What lies at an object store comes by the cache. One
// thread.

#include <string>

#include "linac/control/sites/sites_file.h"

namespace linac::cli {

/// What lies in the folder `path` of the run, or with `all` also in the folders below.
void list_launch_files(const sites::LaunchName& name, const std::string& path, bool all, bool as_json);

/// Brings the file or folder `path` of the run here, "" for all of it: as `to`, else under its own name; all of it into
/// a folder of the launch's name. Data error if some of it
/// changed again and again; the rest is there.
void get_launch_files(const sites::LaunchName& name, const std::string& path, const std::string& to);

}  // namespace linac::cli
