#include "linac/base/job/run_files.h"

#include <algorithm>
#include <array>

#include "linac/base/job/run_record.h"

namespace linac::job {
namespace {

constexpr std::array<std::string_view, 5> kFiles{"job.yaml", kSummaryFile, kMetricsFile, kTraceFile, "log.txt"};
constexpr std::array<std::string_view, 5> kFolders{kCheckpointsFolder, "tensorboard", "images", "models", "evaluation"};

}  // namespace

bool is_kept_file(std::string_view name) {
  if (std::find(kFiles.begin(), kFiles.end(), name) != kFiles.end()) return true;
  const std::string_view first = name.substr(0, name.find('/'));
  if (first == name || std::find(kFolders.begin(), kFolders.end(), first) == kFolders.end()) return false;
  if (first == kCheckpointsFolder) return name.ends_with(".safetensors");
  return name.find("/.") == std::string_view::npos && name.find(".tmp.") == std::string_view::npos;
}

bool is_handed_in(std::string_view name) {
  return is_kept_file(name) || name.starts_with("report/");
}

bool is_snapshot(std::string_view name) {
  return name.starts_with("checkpoints/step-") && name.ends_with(".safetensors");
}

}  // namespace linac::job
