#include "linac/control/client/run_copy.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/base/job/run_record.h"
#include "linac/control/client/runs.h"

namespace linac::client {

using nlohmann::json;

std::vector<ListedFile> files_of_run(ServiceClient& service, const std::string& run, const std::string& folder) {
  const json answer = service.get("/api/v1/runs/" + run + "/files", {{"path", folder}});
  std::vector<ListedFile> files;
  for (const json& file : answer.at("files")) files.push_back({file.at("path"), file.at("folder"), file.at("bytes")});
  return files;
}

std::filesystem::path place_below(const std::filesystem::path& folder, const std::string& path) {
  const std::filesystem::path relative(path);
  const bool leaves = relative.is_absolute() || std::ranges::find(relative, "..") != relative.end();
  if (leaves) throw user_error(fmt::format("[artifacts] '{}' is no harmless name", path));
  return folder / relative;
}

bool copy_file(ServiceClient& service, const std::string& run, const std::string& path,
               const std::filesystem::path& folder) {
  const size_t slash = path.rfind('/');
  const auto there = files_of_run(service, run, slash == std::string::npos ? "" : path.substr(0, slash));
  if (std::ranges::none_of(there, [&](const ListedFile& file) { return file.path == path && !file.folder; }))
    return false;
  service.download(file_address(run, path), place_below(folder, path));
  return true;
}

bool copy_record(ServiceClient& service, const std::string& run, const std::filesystem::path& folder) {
  bool has_metrics = false;
  for (const ListedFile& file : files_of_run(service, run)) {
    const bool metrics = file.path == job::kMetricsFile;
    if (!metrics && file.path != job::kSummaryFile && file.path != "job.yaml" && file.path != "log.txt") continue;
    service.download(file_address(run, file.path), place_below(folder, file.path));
    has_metrics = has_metrics || metrics;
  }
  return has_metrics;
}

}  // namespace linac::client
