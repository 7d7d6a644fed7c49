#pragma once
// What Slurm's answers mean. Pure, thread-safe.

#include <string>
#include <vector>

#include "linac/control/sites/site.h"

namespace linac::sites {

/// One line of squeue or sacct, fields between '|'.
struct SlurmJob {
  std::string id, submitted;  // "2026-01-31T14:05:09"
  std::string state;          // "PENDING", "CANCELLED by 0"
  std::string reason, hosts, elapsed;
};

/// "12|2026-01-31T14:05:09|PENDING|Resources||0:00"; empty fields for what is not there.
SlurmJob slurm_job(const std::string& line);

/// Those of the member `index` of an array, of its lines; all of them for 0.
std::vector<std::string> member_lines(std::vector<std::string> lines, int index);

/// Of the jobs that have the launch's name, the one that is meant: the latest that was not submitted before it was
/// ("ID TIME", as launch/submitted has it). A requeued job has a later time, and a number that is used again another
/// name. An empty id if there is none.
SlurmJob meant_job(const std::vector<std::string>& lines, const std::string& submitted);

/// `exit`: what the script left as the end of the run, -1 for nothing; `starts`: how often it had begun before.
Standing standing_of(const SlurmJob& job, int exit, bool cancelled);

/// "QOSMaxCpuPerUserLimit" with what to do about it, where that is known.
std::string reason_words(const std::string& reason);

}  // namespace linac::sites
