#include "linac/train/train/local/replayed.h"

#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <variant>

#include "linac/base/base/error.h"
#include "linac/base/job/run_record.h"

namespace linac::train {

AnewRounds anew_rounds_of(const std::string& folder, int groups) {
  AnewRounds anew;
  if (folder.empty()) return anew;
  const std::filesystem::path path = std::filesystem::path(folder) / job::kMetricsFile;
  std::ifstream file(path);
  if (!std::filesystem::is_regular_file(path) || !file)
    throw user_error(
        fmt::format("[train] train.sync.replay = {}: there is no record {} on this host; name the folder "
                    "of a run",
                    folder, path.string()));
  const job::LineReader reader(path.string(), job::Wanted::kNoStepMeasures);
  int rollbacks = 0;
  bool any = false;
  for (std::string text; std::getline(file, text);) {
    const job::RunLine line = reader.read(text).line;
    if (std::holds_alternative<job::RollbackLine>(line)) ++rollbacks;
    const auto* const round = std::get_if<job::RoundLine>(&line);
    if (round == nullptr) continue;
    any = true;
    for (const int64_t group : round->anew) {
      if (group < 0 || group >= groups)
        throw user_error(
            fmt::format("[train] train.sync.replay = {}: group {} began anew there, and this job has {} "
                        "(train.sync.groups); take the job.yaml of that folder",
                        folder, group, groups));
      anew[{rollbacks, round->round - 1}].insert(static_cast<int>(group));
    }
  }
  if (!any)
    throw user_error(fmt::format("[train] train.sync.replay = {}: {} has no round of groups that train apart", folder,
                                 path.string()));
  return anew;
}

}  // namespace linac::train
