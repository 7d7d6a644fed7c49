#include "linac/control/service/studies/limits.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/log.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/service/studies/submission.h"

namespace linac::service {

using catalog::Database;
using catalog::StudyJob;
using std::chrono::steady_clock;

Task<void> Limits::open(Context& context, const catalog::SubmittedStudy& submitted, const study::Study& study) {
  const bool has_limits = study.settings.limits.any();
  if (has_limits && use_ && submitted_ms_ == submitted.submitted_ms) co_return;
  if (use_) use_->save();
  use_.reset();
  if (!has_limits) co_return;
  const int64_t number = submitted.study.number;
  use_.emplace(study, use_file(context.data, number));
  submitted_ms_ = submitted.submitted_ms;
  counted_ = steady_clock::now();
  if (!use_->wants_steps() && !use_->wants_energy()) co_return;
  constexpr int64_t kAtOnce = 1000;
  for (int64_t after = 0;;) {
    const std::vector<StudyJob> jobs = co_await reading(
        context, [&](Database& database) { return catalog::study_jobs(database, number, after, kAtOnce); });
    for (const StudyJob& job : jobs) {
      after = job.trial;
      const execution::RunPlaces places(context.host, context.host.run(job.run));
      study::TrialRecord record(study, places.outputs);
      try {
        record.measured();
      } catch (const Error&) {  // it measures something else, which whoever looks after its job says
      }
      note(job.trial, record);
    }
    if (static_cast<int64_t>(jobs.size()) < kAtOnce) break;
  }
}

void Limits::note(int64_t trial, const study::TrialRecord& record) {
  if (!use_) return;
  use_->steps(trial, record.steps());
  if (use_->wants_energy()) use_->energy(trial, record.told_energies());
}

std::string Limits::count(const std::string& study, int running) {
  if (!use_) return "";
  const auto now = steady_clock::now();
  use_->count(std::chrono::duration<double>(now - std::exchange(counted_, now)).count(), running);
  if (const auto warning = use_->warning()) log::warn(fmt::format("[studies] {}: {}", study, *warning));
  const std::string what = use_->used_up();
  if (running == 0 || !what.empty()) use_->save();
  return what;
}

}  // namespace linac::service
