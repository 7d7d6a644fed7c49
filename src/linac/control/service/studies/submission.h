#pragma once
// A study that somebody gives to the queue: what was asked for, checked as `linac submit` checks a job, and the job of
// each trial. What is kept of it says nothing that its owner has not said; whether he still may, is asked again for
// each trial.

#include <filesystem>
#include <string>
#include <vector>

#include "linac/control/catalog/study_jobs.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/execution/submission.h"
#include "linac/control/service/declared_sites.h"
#include "linac/control/service/http_words.h"
#include "linac/control/study/study_file.h"

namespace linac::service {

/// How the trials of a study are carried out; kept in the catalog as JSON.
struct StudyWishes {
  catalog::Wishes wishes{};
  std::string directory{};  // of relative paths among what is searched
  bool by_admin = false;    // whoever submitted it came as one

  std::string text() const;
  static StudyWishes of_text(const std::string& text);  // data error
};

/// What a study has at most, of any service. kInvalid.
void check_size(const study::Study& study);

struct SubmittedFile {
  study::Study study;                  // with its job resolved, in absolute paths
  std::vector<std::string> secrets{};  // that the job asks for, by name
  std::string problem{};               // what its trials would fail by; empty: nothing is known
};
/// A study's file, its job resolved and checked as it is and with the first and the last value of each parameter: user
/// error, or `problem`. `request`: `job` has the file's text. `site`, where its trials go to one, is asked as for a
/// job. Looks at files, and takes as long as the site's network does: to be run by Checks.
SubmittedFile prepare_study(execution::SubmissionRequest request, const launch::Demand& all, bool price_known,
                            const sites::Site* site);

/// Refuses, as at this moment, a place, an account or a user.
void check_owner(catalog::Database& database, const execution::Scheduler& scheduler, const DeclaredSites& sites,
                 const std::string& user, const StudyWishes& wishes);

/// The job of a trial.
execution::SubmissionRequest trial_request(catalog::Database& database, const execution::Scheduler& scheduler,
                                           const std::string& data_folder, const catalog::StudyRecord& record,
                                           const study::Study& study, const StudyWishes& wishes,
                                           const tune::Trial& trial);
/// By which the job of a trial is made once, each time that the study is submitted.
std::string trial_key(const catalog::SubmittedStudy& submitted, int64_t trial);

/// Cancels the jobs of a study that wait or run, until it is submitted again; their runs.
std::vector<std::string> stop_jobs(catalog::Database& database, int64_t study, const std::string& why);

/// In the folder of a service: NUMBER.json says what the trials of a study with limits have used.
inline constexpr const char* kStudiesFolder = "studies";
/// Where it is written down what the trials of a study with limits have used.
std::filesystem::path use_file(const std::filesystem::path& data, int64_t study);

/// {"state", "reason", "on", "submitted_ms"}; null for a study that programs ask.
nlohmann::json submitted_words(catalog::Database& database, int64_t study);

}  // namespace linac::service
