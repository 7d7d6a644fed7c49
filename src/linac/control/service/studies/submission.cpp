#include "linac/control/service/studies/submission.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/may.h"
#include "linac/control/service/studies/trials.h"

namespace linac::service {

using catalog::Database;
using nlohmann::json;

std::string StudyWishes::text() const {
  return json{{"priority", wishes.priority},
              {"cores", wishes.resources.cores},
              {"memory_mb", wishes.resources.memory_mb},
              {"gpus", wishes.resources.gpus},
              {"seconds_max", wishes.seconds_max},
              {"cost_max", wishes.cost_max},
              {"on", wishes.place},
              {"tags", wishes.tags},
              {"directory", directory},
              {"by_admin", by_admin}}
      .dump();
}

StudyWishes StudyWishes::of_text(const std::string& text) {
  try {
    const json words = json::parse(text);
    StudyWishes read;
    read.wishes.priority = words.at("priority");
    read.wishes.resources = {words.at("cores"), words.at("memory_mb"), words.at("gpus")};
    read.wishes.seconds_max = words.at("seconds_max");
    read.wishes.cost_max = words.at("cost_max");
    read.wishes.place = words.at("on");
    read.wishes.tags = words.at("tags").get<std::vector<std::string>>();
    read.directory = words.at("directory");
    read.by_admin = words.at("by_admin");
    return read;
  } catch (const json::exception& error) {
    throw data_error(
        fmt::format("[studies] what a study was submitted with is damaged in the catalog ({}); submit it "
                    "again",
                    error.what()));
  }
}

void check_size(const study::Study& study) {
  constexpr size_t kParametersMax = 256;
  const auto invalid = [](const std::string& what) { return Refusal(RefusalKind::kInvalid, "[studies] " + what); };
  if (study.settings.search.size() > kParametersMax)
    throw invalid(fmt::format("{} parameters; {} are the most", study.settings.search.size(), kParametersMax));
  if (study.settings.budget.trials > kStudyTrialsMax)
    throw invalid(fmt::format("budget.trials: {}; a study of a service has {} at most", study.settings.budget.trials,
                              kStudyTrialsMax));
}

SubmittedFile prepare_study(execution::SubmissionRequest request, const launch::Demand& all, bool price_known,
                            const sites::Site* site) {
  const std::string where = request.file, text = request.job;
  // Its paths are looked up below, as those of any job: places that are nowhere are looked at by nobody.
  SubmittedFile file{.study = study::parse_study(text, where, {})};
  study::check_for_queue(file.study);
  check_size(file.study);
  request.job = study::job_in(text, where);
  execution::PreparedJob base = std::move(execution::prepare(request, all, price_known).front());
  file.study.job = base.job;
  file.secrets = base.secrets;
  file.problem = base.problem;
  if (site != nullptr && file.problem.empty()) file.problem = why_not_there(*site, base.job);
  request.job = base.job;
  request.folder.clear();
  request.overrides.clear();
  request.array = study::settings_of_ends(file.study.space());
  for (const execution::PreparedJob& end : execution::prepare(request, all, price_known)) {
    if (file.problem.empty()) file.problem = end.problem;
    if (site != nullptr && file.problem.empty()) file.problem = why_too_much(*site, end.job);
  }
  return file;
}

void check_owner(Database& database, const execution::Scheduler& scheduler, const DeclaredSites& sites,
                 const std::string& user, const StudyWishes& wishes) {
  const execution::AttemptSettings& settings = scheduler.attempts();
  const std::string account = settings.account(database, user);
  const bool admin = wishes.by_admin && settings.is_admin(database, user);
  Caller caller;
  caller.user = user, caller.account = account, caller.access = admin ? Access::kAdmin : Access::kMember;
  sites.check(wishes.wishes.place, caller);
  const catalog::Person owner = catalog::person(database, user);
  if (!may(owner, catalog::Action::kBegin, {user, false}))
    throw Refusal(RefusalKind::kDenied,
                  fmt::format("[studies] '{}' may not submit jobs any longer; an admin lets him, and then it is "
                              "submitted again",
                              user));
  if (wishes.wishes.place != catalog::kOwnHost) return;
  if (const std::string why = execution::why_not_trusted(database, user, account, settings); !why.empty())
    throw Refusal(RefusalKind::kDenied, "[submit] " + why);
}

execution::SubmissionRequest trial_request(Database& database, const execution::Scheduler& scheduler,
                                           const std::string& data_folder, const catalog::StudyRecord& record,
                                           const study::Study& study, const StudyWishes& wishes,
                                           const tune::Trial& trial) {
  const execution::AttemptSettings& settings = scheduler.attempts();
  execution::SubmissionRequest request;
  request.job = study.job;
  request.file = fmt::format("the job of study '{}'", record.name);
  request.directory = wishes.directory;
  request.overrides = study::settings_of(study.space(), trial.point);
  request.name = execution::name_of_member(record.name, fmt::format("{:04}", trial.number), request.overrides);
  request.experiment = record.experiment;
  request.user = record.user;
  request.account = settings.account(database, record.user);
  if (!wishes.by_admin || !settings.is_admin(database, record.user)) {
    request.hidden = data_folder;
    request.sandbox = execution::view_of_all(settings.sandboxes, request.account);
  }
  request.wishes = wishes.wishes;
  request.wishes.attempts_max = study.settings.budget.attempts;
  return request;
}

std::string trial_key(const catalog::SubmittedStudy& submitted, int64_t trial) {
  // What users call their submissions ends in a number behind a slash (routes/jobs.cpp).
  return fmt::format("study {} of {} trial {}", submitted.study.number, submitted.submitted_ms, trial);
}

std::vector<std::string> stop_jobs(Database& database, int64_t study, const std::string& why) {
  std::vector<std::string> runs;
  for (const catalog::StudyJob& job : catalog::study_jobs_under_way(database, study))
    if (catalog::end_study_job(database, study, job, catalog::StudyEnding::kStopped, why)) runs.push_back(job.run);
  return runs;
}

std::filesystem::path use_file(const std::filesystem::path& data, int64_t study) {
  return data / kStudiesFolder / fmt::format("{}.json", study);
}

json submitted_words(Database& database, int64_t study) {
  const auto submitted = catalog::submitted_study(database, study);
  if (!submitted) return nullptr;
  return {{"state", catalog::to_string(submitted->state)},
          {"reason", submitted->reason},
          {"on", StudyWishes::of_text(submitted->wishes).wishes.place},
          {"submitted_ms", submitted->submitted_ms}};
}

}  // namespace linac::service
