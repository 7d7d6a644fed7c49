#include "linac/control/catalog/study_jobs.h"

#include <fmt/format.h>

#include <array>
#include <utility>

#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/control/catalog/records.h"

namespace linac::catalog {
namespace {

constexpr std::array kStates{std::pair{StudyState::kRunning, "running"}, std::pair{StudyState::kStopped, "stopped"},
                             std::pair{StudyState::kFailed, "failed"}, std::pair{StudyState::kDone, "done"}};
constexpr std::array kEndings{std::pair{StudyEnding::kNone, ""}, std::pair{StudyEnding::kPruned, "pruned"},
                              std::pair{StudyEnding::kStopped, "stopped"}};

template <class Table, class Value>
const char* word_of(const Table& table, Value value) {
  for (const auto& [one, word] : table)
    if (one == value) return word;
  return "";
}

template <class Table>
auto value_of(const Table& table, const std::string& word) {
  for (const auto& [value, one] : table)
    if (word == one) return value;
  throw data_error(fmt::format("[catalog] '{}' is no state of a study that this linac knows", word));
}

constexpr const char* kJob =
    "SELECT s.trial, r.id, r.state, r.reason, s.ending, s.why, j.waiting FROM study_jobs s JOIN runs r ON r.number = "
    "s.run JOIN jobs j ON j.run = s.run ";

StudyJob job_of(const Row& row) {
  return {.trial = row.integer(0),
          .run = row.text(1),
          .state = run_state(row.text(2)),
          .reason = row.text(3),
          .ending = value_of(kEndings, row.text(4)),
          .why = row.text(5),
          .under_way = row.integer(6) != 0};
}

template <class Rows>
std::vector<StudyJob> jobs_of(const Rows& rows) {
  std::vector<StudyJob> jobs;
  for (const Row& row : rows) jobs.push_back(job_of(row));
  return jobs;
}

}  // namespace

const char* to_string(StudyState state) {
  return word_of(kStates, state);
}

void submit_study(Database& database, int64_t study, const std::string& wishes) {
  database.query(
      "INSERT INTO submitted_studies (study, state, reason, wishes, submitted_ms) VALUES ($1, $2, '', $3, $4) ON "
      "CONFLICT (study) DO UPDATE SET state = excluded.state, reason = '', wishes = excluded.wishes, submitted_ms = "
      "excluded.submitted_ms",
      study, std::string(to_string(StudyState::kRunning)), wishes, now_ms());
}

std::optional<SubmittedStudy> submitted_study(Database& database, int64_t number) {
  const auto row = database.first(
      "SELECT s.name, u.state, u.reason, u.wishes, u.submitted_ms FROM submitted_studies u JOIN studies s ON s.number "
      "= u.study WHERE u.study = $1",
      number);
  if (!row) return std::nullopt;
  return SubmittedStudy{study(database, row->text(0)), value_of(kStates, row->text(1)), row->text(2), row->text(3),
                        row->integer(4)};
}

std::vector<std::string> submitted_studies(Database& database) {
  std::vector<std::string> names;
  for (const Row& row : database.query("SELECT s.name FROM submitted_studies u JOIN studies s ON s.number = u.study "
                                       "WHERE u.state <> $1 ORDER BY u.study",
                                       std::string(to_string(StudyState::kDone))))
    names.push_back(row.text(0));
  return names;
}

bool set_study_state(Database& database, int64_t study, int64_t submitted_ms, StudyState state,
                     const std::string& reason) {
  return !database
              .query(
                  "UPDATE submitted_studies SET state = $3, reason = $4 WHERE study = $1 AND submitted_ms = $2 AND "
                  "state = $5 RETURNING study",
                  study, submitted_ms, std::string(to_string(state)), reason,
                  std::string(to_string(StudyState::kRunning)))
              .empty();
}

void add_study_job(Database& database, int64_t study, int64_t trial, const std::string& run) {
  const auto made = database.query(
      "INSERT INTO study_jobs (study, trial, run, ending, why) VALUES ($1, $2, $3, '', '') ON CONFLICT (study, trial) "
      "DO NOTHING RETURNING trial",
      study, trial, run_number(database, run));
  if (made.empty()) throw Refusal(RefusalKind::kState, fmt::format("[studies] trial {} has a run already", trial));
}

void forget_study_job(Database& database, int64_t study, int64_t trial) {
  database.query("DELETE FROM study_jobs WHERE study = $1 AND trial = $2", study, trial);
}

std::optional<StudyJob> study_job(Database& database, int64_t study, int64_t trial) {
  const auto row = database.first(fmt::format("{}WHERE s.study = $1 AND s.trial = $2", kJob), study, trial);
  return row ? std::optional(job_of(*row)) : std::nullopt;
}

std::vector<StudyJob> study_jobs(Database& database, int64_t study, int64_t after, int64_t limit) {
  return jobs_of(database.query(fmt::format("{}WHERE s.study = $1 AND s.trial > $2 ORDER BY s.trial LIMIT $3", kJob),
                                study, after, limit));
}

std::vector<StudyJob> study_jobs_under_way(Database& database, int64_t study) {
  return jobs_of(database.query(fmt::format("{}WHERE s.study = $1 AND j.waiting <> 0 ORDER BY s.trial", kJob), study));
}

bool end_study_job(Database& database, int64_t study, const StudyJob& job, StudyEnding ending, const std::string& why) {
  const auto now = study_job(database, study, job.trial);
  if (!now || !now->under_way || ended(now->state) || now->ending != StudyEnding::kNone) return false;
  database.query("UPDATE study_jobs SET ending = $3, why = $4 WHERE study = $1 AND trial = $2", study, job.trial,
                 std::string(word_of(kEndings, ending)), why);
  cancel(database, job.run, why);
  return true;
}

void resume_study_job(Database& database, int64_t study, const StudyJob& job) {
  database.query("UPDATE study_jobs SET ending = '', why = '' WHERE study = $1 AND trial = $2", study, job.trial);
  resume(database, job.run);
}

}  // namespace linac::catalog
