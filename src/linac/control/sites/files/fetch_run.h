#pragma once
// Files of a run's folder, brought here: each whole and with the checksum that it has there, or not at all. What has
// come stays when the connection breaks, and the next call goes on behind it. Nothing outside of the target folder is
// opened or replaced, whatever names and links lie there or here. One process at a time fetches into a folder.

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "linac/control/sites/files/run_folder.h"

namespace linac::sites {

/// Below the target, as long as something is on its way: each content of a file under a name of its own, so that
/// another one never goes on behind it.
inline constexpr const char* kPartsFolder = ".linac-fetch";

struct FetchedRun {
  std::vector<RunFile> fetched;
  int64_t there = 0;                 // files that were there with the same content
  int64_t sent = 0;                  // bytes
  std::vector<std::string> gone;     // that were removed there meanwhile, as older checkpoints of a run that goes on
  std::vector<std::string> changed;  // became another content again and again: they are not here
};

/// `into` is made if it is not there. A file that has changed since it was listed is looked at again, some times. User
/// error while another process fetches into the same folder; environment error for disk and connection.
FetchedRun fetch_run(const RunFolder& folder, const std::vector<RunFile>& files, const std::filesystem::path& into,
                     const std::function<void(const RunFile&)>& told);

}  // namespace linac::sites
