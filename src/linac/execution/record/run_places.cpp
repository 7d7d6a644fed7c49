#include "linac/execution/record/run_places.h"

#include <string_view>

namespace linac::execution {

RunPlaces::RunPlaces(const Site& site, const catalog::Run& run)
    : root(std::filesystem::absolute(site.data) / kRunsFolder / run.id),
      job(root / "job.yaml"),
      log(root / "log.txt"),
      outputs(root / "outputs") {
  constexpr std::string_view kOwn = "mlflow-artifacts:/";
  // An experiment may have its artefacts elsewhere.
  if (run.artifact_uri.starts_with(kOwn))
    outputs = std::filesystem::absolute(site.artifacts) / run.artifact_uri.substr(kOwn.size());
}

}  // namespace linac::execution
