#include "linac/control/service/artifact_files.h"

#include <nlohmann/json.hpp>

#include "linac/control/catalog/artifact_location.h"

namespace linac::service {

using nlohmann::json;

json file_info(const FolderEntry& entry, const std::string& path) {
  json info = {{"path", path}, {"is_dir", entry.folder}};
  if (!entry.folder) info["file_size"] = entry.bytes;
  return info;
}

json listed_artifacts(const std::filesystem::path& folder, const std::string& root_uri, const std::string& path) {
  json files = json::array();
  const std::string below = harmless_path(path);
  if (const auto root = catalog::own_artifacts(root_uri)) {
    const std::string name = below.empty() ? *root : *root + "/" + below;
    for (const FolderEntry& entry : entries_below(folder, name))
      files.push_back(file_info(entry, entry.path.substr(root->size() + 1)));
  }
  return {{"root_uri", root_uri}, {"files", std::move(files)}};
}

}  // namespace linac::service
