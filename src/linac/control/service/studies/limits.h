#pragma once
// What the trials of a submitted study have used of its limits. Of the coroutine that looks after the study.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>

#include "linac/control/catalog/study_jobs.h"
#include "linac/control/service/catalog_access.h"
#include "linac/control/study/conduct.h"
#include "linac/control/study/trials_use.h"

namespace linac::service {

class Limits {
 public:
  /// Those of the study as it was submitted: what its trials have used so far is read from its file and the folders of
  /// their runs, unless that was done. Throws where somebody has damaged the file.
  Task<void> open(Context& context, const catalog::SubmittedStudy& submitted, const study::Study& study);
  /// What a trial has used, as its run tells.
  void note(int64_t trial, const study::TrialRecord& record);
  /// Between the last time and now so many trials ran. What is used up: "limits.hours = 2"; empty: nothing.
  std::string count(const std::string& study, int running);

 private:
  std::optional<study::TrialsUse> use_;
  int64_t submitted_ms_ = 0;  // of the submission that it is of
  std::chrono::steady_clock::time_point counted_;
};

}  // namespace linac::service
