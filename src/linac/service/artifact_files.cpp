#include "linac/service/artifact_files.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/refusal.h"
#include "linac/base/utf8.h"

namespace linac::service {

using nlohmann::json;

std::optional<std::string> own_artifacts(const std::string& uri) {
  constexpr std::string_view kScheme = "mlflow-artifacts:/";
  if (!uri.starts_with(kScheme)) return std::nullopt;
  std::string path = uri.substr(kScheme.size());
  if (path.starts_with('/')) return std::nullopt;  // names another server
  return path;
}

void check_artifact_location(const std::string& uri) {
  const auto place = own_artifacts(uri);
  if (!place) return;
  const auto only = [](std::string_view text, const char* digits) {
    return text.find_first_not_of(digits) == std::string_view::npos;
  };
  bool first = true, taken = false;
  for (size_t begin = 0; begin < place->size();) {
    const size_t end = std::min(place->find('/', begin), place->size());
    std::string_view part = std::string_view(*place).substr(begin, end - begin);
    taken = taken || (first && (part == "models" || only(part, "0123456789")));
    if (part.starts_with("m-")) part.remove_prefix(2);
    constexpr size_t kIdDigits = 32;
    taken = taken || (part.size() == kIdDigits && only(part, "0123456789abcdef"));
    first = false;
    begin = end + 1;
  }
  if (taken || first)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[experiments] the artefacts cannot lie at '{}', which is a place of other runs; leave "
                              "artifact_location out, or choose another folder",
                              printable(uri)));
}

json file_info(const FolderEntry& entry, const std::string& path) {
  json info = {{"path", path}, {"is_dir", entry.folder}};
  if (!entry.folder) info["file_size"] = entry.bytes;
  return info;
}

json listed_artifacts(const std::filesystem::path& folder, const std::string& root_uri, const std::string& path) {
  json files = json::array();
  const std::string below = harmless_path(path);
  if (const auto root = own_artifacts(root_uri)) {
    const std::string name = below.empty() ? *root : *root + "/" + below;
    for (const FolderEntry& entry : entries_below(folder, name))
      files.push_back(file_info(entry, entry.path.substr(root->size() + 1)));
  }
  return {{"root_uri", root_uri}, {"files", std::move(files)}};
}

}  // namespace linac::service
