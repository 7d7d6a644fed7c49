#include "linac/control/execution/record/run_places.h"

#include "linac/control/catalog/artifact_location.h"

namespace linac::execution {

RunPlaces::RunPlaces(const Host& host, const catalog::Run& run)
    : root(std::filesystem::absolute(host.data) / kRunsFolder / run.id),
      job(root / "job.yaml"),
      log(root / "log.txt"),
      outputs(root / "outputs") {
  // An experiment may have its artefacts elsewhere.
  if (const auto path = catalog::own_artifacts(run.artifact_uri))
    outputs = std::filesystem::absolute(host.artifacts) / *path;
}

}  // namespace linac::execution
