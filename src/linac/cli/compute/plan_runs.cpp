#include "linac/cli/compute/plan_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/cli/compute/plan_service.h"

namespace linac::cli {
namespace {

namespace fs = std::filesystem;

std::vector<plan::FoundRun> runs_in(const std::string& folder) {
  if (!fs::is_directory(folder))
    throw user_error(fmt::format(
        "[plan] --runs {}: no such folder; name one that has folders of runs in it, or a service, https://HOST",
        folder));
  std::vector<plan::FoundRun> runs;
  if (auto run = plan::find_run(folder)) {
    runs.push_back(std::move(*run));
    return runs;
  }
  const fs::path trials = fs::path(folder) / "trials";  // of a study
  std::vector<fs::path> below;
  for (const auto& entry : fs::directory_iterator(fs::is_directory(trials) ? trials : fs::path(folder)))
    below.push_back(entry.path());
  std::sort(below.begin(), below.end());
  for (const fs::path& path : below)
    if (auto run = plan::find_run(path)) runs.push_back(std::move(*run));
  return runs;
}

}  // namespace

std::vector<plan::PastRun> past_runs(const std::vector<std::string>& places, const std::string& kin,
                                     const std::string& goal) {
  std::optional<plan::GoalWish> wish;
  if (!goal.empty()) wish = plan::parse_goal(goal);
  std::vector<plan::PastRun> past;
  for (const std::string& place : places) {
    if (is_service(place)) {
      std::vector<plan::PastRun> there = runs_at(place, kin, goal.empty() ? std::nullopt : std::optional(goal));
      std::move(there.begin(), there.end(), std::back_inserter(past));
      continue;
    }
    for (const plan::FoundRun& run : runs_in(place))
      if (auto found = plan::read_past_run(run, run.kin == kin ? wish : std::nullopt))
        past.push_back(std::move(*found));
  }
  return past;
}

plan::Measured measured_by_run(const fs::path& folder) {
  const auto run = plan::find_run(folder);
  const auto past = run ? plan::read_past_run(*run) : std::nullopt;
  if (past && past->measured) return *past->measured;
  throw user_error(fmt::format("[plan] {}: {}; leave --measured out, and a short training measures it", folder.string(),
                               past ? past->why_not : "no run of linac with its record"));
}

}  // namespace linac::cli
