#include "linac/train/trained/checkpoint_files.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/error.h"

namespace linac::trained {

std::vector<std::filesystem::path> list_checkpoints(const std::filesystem::path& folder) {
  std::vector<std::filesystem::path> paths;
  std::error_code why;
  std::filesystem::directory_iterator entries(folder, why);
  if (why)
    throw environment_error(
        fmt::format("[checkpoint] {}: cannot be looked into ({}); it was there before: look who "
                    "removed it, or whether its file system is still there",
                    folder.string(), why.message()));
  for (const auto& entry : entries) {
    const std::string name = entry.path().filename().string();
    if (name.starts_with("step-") && name.ends_with(".safetensors")) paths.push_back(entry.path());
  }
  std::sort(paths.begin(), paths.end());
  return paths;
}

std::filesystem::path best_checkpoint(const std::filesystem::path& folder) {
  return folder / "best.safetensors";
}

std::filesystem::path restored_checkpoint(const std::filesystem::path& folder) {
  return folder / "restored.safetensors";
}

std::vector<std::filesystem::path> chosen_checkpoints(const std::filesystem::path& folder) {
  return {best_checkpoint(folder), restored_checkpoint(folder)};
}

std::string value_name(const std::string& network, const std::string& group, const std::string& slot) {
  return fmt::format("{}/{}/{}", network, group, slot);
}

}  // namespace linac::trained
