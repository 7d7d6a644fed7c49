#pragma once
// Parts of a run's folder, brought here from the service that has it.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "linac/control/client/service_client.h"

namespace linac::client {

struct ListedFile {
  std::string path;  // below the run's folder
  bool folder = false;
  int64_t bytes = 0;
};

/// What lies in a folder of the run's files, "" for the whole; nothing if there is no such folder.
std::vector<ListedFile> files_of_run(ServiceClient& service, const std::string& run, const std::string& folder = "");

/// Where a file of a run belongs below `folder`: the service names it, and it must not end outside. User error if it
/// would.
std::filesystem::path place_below(const std::filesystem::path& folder, const std::string& path);

/// The run's record (run.json, job.yaml, log.txt, metrics.jsonl), as far as it is there. Whether there is any metric.
bool copy_record(ServiceClient& service, const std::string& run, const std::filesystem::path& folder);

/// One file, if it is there.
bool copy_file(ServiceClient& service, const std::string& run, const std::string& path,
               const std::filesystem::path& folder);

}  // namespace linac::client
