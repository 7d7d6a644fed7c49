#pragma once
// Where artefacts lie: "mlflow-artifacts:/0/<run>/artifacts/model" is the folder 0/<run>/artifacts/model below the
// service's own.

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>

#include "linac/base/safe_path.h"

namespace linac::service {

/// The path of an artefact URI below the service's folder of artefacts; nothing for one that lies elsewhere (s3://,
/// file:/).
std::optional<std::string> own_artifacts(const std::string& uri);

/// kInvalid for a place of this service that is, or could become, that of other experiments', runs' or models' files:
/// one that begins with a number or "models", or has the id of a run or logged model in it.
void check_artifact_location(const std::string& uri);

/// MLflow's FileInfo, under the name `path`.
nlohmann::json file_info(const FolderEntry& entry, const std::string& path);

/// The answer to "list artefacts" of a run or logged model: paths relative to `root_uri`.
nlohmann::json listed_artifacts(const std::filesystem::path& folder, const std::string& root_uri,
                                const std::string& path);

}  // namespace linac::service
