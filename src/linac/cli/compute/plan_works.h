#pragma once
// Jobs that are planned beside each other: one job with other precisions, batches and numbers of replicas. Each is a
// training of its own, with other results, which its rows say. From the main thread only.

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/plan/measured.h"
#include "linac/base/plan/past_run.h"
#include "linac/base/plan/prices.h"

namespace linac::cli {

/// As the job's settings name them; empty: the job's own. User error for more than kWorksMax of all together.
struct WorkWishes {
  std::vector<std::string> precisions;
  std::vector<int64_t> batches;
  std::vector<int> replicas;
};
inline constexpr size_t kWorksMax = 64;

struct PlannedWork {
  plan::Measured measured;           // of it, or what follows from others; with its own steps
  std::string name;                  // ", batch 16, bf16": what is other than in the job; empty: nothing
  std::vector<std::string> remarks;  // of its rows
  std::vector<std::pair<std::string, std::string>> settings;  // other than the job's: {"batch", "16"} of train
};

/// Of the batches the one that a measurement should try beside the job's own: the furthest. 0: none is wanted.
int64_t second_batch(const job::Job& job, const WorkWishes& wishes);

/// What the works are measured by.
struct WorkSources {
  std::string job;  // its file
  std::vector<std::string> overrides;
  double probe_seconds = 0;  // of each precision that nobody has measured; 0: nothing is measured
  const std::vector<plan::PastRun>& runs;
  const plan::Book& book;
};

/// At least one. `measured`: of the job, at whatever batch. What cannot be a job of these data is left out, and
/// `remarks` say so; data error if all are. User error for a setting that no job can have.
std::vector<PlannedWork> works_of(const WorkWishes& wishes, const WorkSources& sources, const plan::Measured& measured,
                                  std::vector<std::string>& remarks);

}  // namespace linac::cli
