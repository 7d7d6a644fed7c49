#pragma once
// Where the files of a queued run lie. Thread-safe.
//
//   DATA/runs/ID/job.yaml     the job, as its attempts read it
//   DATA/runs/ID/log.txt      what they print, one after the other
//   DATA/runs/ID/attempt-N/   their bookkeeping (control/launch/attempt_folder.h)
//   the run's artefacts       the run's folder itself (`linac train --out`): what it makes is there for everybody to
//   fetch

#include <filesystem>
#include <string>

#include "linac/control/catalog/runs.h"
#include "linac/control/execution/host.h"

namespace linac::execution {

/// In the folder of the service.
inline constexpr const char* kRunsFolder = "runs";

struct RunPlaces {
  RunPlaces(const Host& host, const catalog::Run& run);

  std::filesystem::path root, job, log, outputs;
  std::filesystem::path attempt(int64_t number) const { return root / ("attempt-" + std::to_string(number)); }
};

}  // namespace linac::execution
