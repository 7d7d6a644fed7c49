#pragma once
// A study carried out on this host: trials in processes, some at a time; what they measure is told to the journal as it
// comes, and what the pruner gives up is stopped. One runner a study. A trial whose process was lost goes on from its
// checkpoint; so does everything after the runner itself was lost. The process has no other threads.

#include <filesystem>
#include <functional>
#include <string>

#include "linac/control/study/journal.h"
#include "linac/io/storage/folder/claim_holder.h"

namespace linac::study {

struct RunnerOptions {
  std::filesystem::path program;                 // linac, for trials of a job
  std::function<void(const std::string&)> tell;  // a line for whoever watches
  // Whether it may be another runner's that seems to live, which stops then.
  storage::TakeOver take_over = storage::TakeOver::kIfLeft;
};

/// kLimit: what the study may use is used up.
enum class RunEnd { kDone, kStopped, kLimit };

/// Until the budget is used up, the limits are, or a signal asks to stop: then the trials write checkpoints first, and
/// the same call goes on. Throws what the first trial could not do, if none ever came to an end. User error if another
/// runner has the study, or takes it over meanwhile: then as after a signal.
RunEnd run(Journal& journal, const RunnerOptions& options);

/// The value of a trial that is complete, as told; of another one the last that it reported. NaN: none.
double value_of(const tune::Trial& trial, tune::Direction direction);

}  // namespace linac::study
