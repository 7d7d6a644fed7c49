#include "linac/train/train/record/lineage.h"

#include <fmt/format.h>

#include "linac/base/base/error.h"
#include "linac/base/base/fnv1a.h"
#include "linac/base/job/branch.h"
#include "linac/base/job/job_paths.h"

namespace linac::train {
namespace {

// Files count by their names, not by where they lie.
std::string id_of(job::Job job, const std::string& begin) {
  job = job::without_free_settings(std::move(job));
  for (std::string* file : job::files_of(job)) *file = std::filesystem::path(*file).filename().string();
  return fmt::format("{:016x}", fnv1a_64(job::to_yaml(job) + begin));
}

}  // namespace

Lineage begun_lineage(const job::Job& job) {
  return {id_of(job, ""), ""};
}

Lineage lineage_in(const RunFolder& folder, const job::Job& job, const std::filesystem::path& file,
                   const CheckpointOrigin& origin) {
  const std::string& there = origin.lineage.id;
  const auto summary = folder.summary();
  if (summary && summary->id) {
    const Lineage here{*summary->id, summary->branch_of.value_or("")};
    if (there.empty() || there == here.id || there == here.branch_of) return here;
    throw user_error(fmt::format(
        "[train] --resume: {} is of another run: its id is {}, that of the run in {} is {}. Move it away, and the run "
        "goes on from a checkpoint of its own; a new run goes on from that other one by --branch",
        file.string(), there, folder.shown(folder.root()), here.id));
  }
  if (there.empty()) return begun_lineage(job);
  // No start has been here: a branch begins, whose job may be another. Or run.json is lost.
  const Lineage begun = begun_lineage(job);
  if (begun_lineage(job::parse_job(origin.job, file.string(), {})).id == begun.id) return origin.lineage;
  return {id_of(job, there + file.filename().string()), there};
}

}  // namespace linac::train
