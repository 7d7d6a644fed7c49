#pragma once
// Where artefacts lie: "mlflow-artifacts:/0/<run>/artifacts/model" is the folder 0/<run>/artifacts/model below the
// service's own.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "linac/base/base/safe_path.h"

namespace linac::service {

/// MLflow's FileInfo, under the name `path`.
nlohmann::json file_info(const FolderEntry& entry, const std::string& path);

/// The answer to "list artefacts" of a run or logged model: paths relative to `root_uri`.
nlohmann::json listed_artifacts(const std::filesystem::path& folder, const std::string& root_uri,
                                const std::string& path);

}  // namespace linac::service
