#include "linac/control/catalog/studies.h"

#include <fmt/format.h>

#include <algorithm>

#include "linac/base/base/clock.h"
#include "linac/base/base/error.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/utf8.h"

namespace linac::catalog {
namespace {

constexpr size_t kStudyNameMax = 200;
constexpr const char* kStudy =
    "SELECT s.number, s.name, s.user_name, s.experiment, s.file, s.created_ms, "
    "s.updated_ms, s.lines, s.trials, s.told FROM studies s";

StudyRecord study_of(const Row& row) {
  return {.number = row.integer(0),
          .name = row.text(1),
          .user = row.text(2),
          .experiment = row.integer(3),
          .file = row.text(4),
          .created_ms = row.integer(5),
          .updated_ms = row.integer(6),
          .lines = row.integer(7),
          .trials = row.integer(8),
          .told = row.integer(9)};
}

bool letter_or_digit(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9');
}

}  // namespace

void check_study_name(const std::string& name) {
  const bool well = !name.empty() && name.size() <= kStudyNameMax && letter_or_digit(name.front()) &&
                    std::all_of(name.begin(), name.end(),
                                [](char c) { return letter_or_digit(c) || c == '.' || c == '_' || c == '-'; });
  if (!well)
    throw Refusal(RefusalKind::kInvalid,
                  fmt::format("[studies] '{}' is no name of a study; letters, digits, '.', '_' and '-', a letter or "
                              "digit first, at most {}",
                              printable(name.substr(0, kStudyNameMax)), kStudyNameMax));
}

int64_t create_study(Database& database, const StudyRecord& study, const std::string& first_line) {
  check_study_name(study.name);
  if (find_study(database, study.name))
    throw Refusal(RefusalKind::kExists,
                  fmt::format("[studies] there is a study '{}' already; choose another name", study.name));
  const int64_t now = now_ms();
  const auto row = database.first(
      "INSERT INTO studies (name, user_name, experiment, file, created_ms, updated_ms, lines, trials, told) VALUES "
      "($1, $2, $3, $4, $5, $5, 0, 0, 0) RETURNING number",
      study.name, study.user, study.experiment, study.file, now);
  append_study_line(database, row->integer(0), 1, first_line);
  return row->integer(0);
}

std::optional<StudyRecord> find_study(Database& database, const std::string& name) {
  const auto row = database.first(fmt::format("{} WHERE s.name = $1", kStudy), name);
  return row ? std::optional(study_of(*row)) : std::nullopt;
}

StudyRecord study(Database& database, const std::string& name) {
  auto found = find_study(database, name);
  if (!found)
    throw Refusal(RefusalKind::kNotFound, fmt::format("[studies] no study '{}'; the list shows those that there are",
                                                      printable(name.substr(0, kStudyNameMax))));
  return std::move(*found);
}

std::vector<StudyRecord> studies(Database& database, const Viewer& viewer, const std::string& user, int64_t before,
                                 int64_t limit) {
  std::vector<StudyRecord> found;
  const auto rows = database.query(
      fmt::format("{} WHERE ($1 = 1 OR s.user_name = $2 OR s.experiment IN (SELECT id FROM experiments WHERE shared = "
                  "1)) AND ($3 = 0 OR s.number < $3) AND ($4 = '' OR s.user_name = $4) ORDER BY s.number DESC LIMIT $5",
                  kStudy),
      int64_t{viewer.all}, viewer.user, before, user, limit);
  for (const Row& row : rows) found.push_back(study_of(row));
  return found;
}

void set_study_file(Database& database, int64_t study, const std::string& file) {
  database.query("UPDATE studies SET file = $2, updated_ms = $3 WHERE number = $1", study, file, now_ms());
}

void remove_study(Database& database, int64_t study) {
  database.query("DELETE FROM study_jobs WHERE study = $1", study);
  database.query("DELETE FROM submitted_studies WHERE study = $1", study);
  database.query("DELETE FROM study_leases WHERE study = $1", study);
  database.query("DELETE FROM study_lines WHERE study = $1", study);
  database.query("DELETE FROM studies WHERE number = $1", study);
}

std::vector<std::string> study_lines(Database& database, int64_t study, int64_t after, int64_t limit) {
  std::vector<std::string> lines;
  for (const Row& row :
       database.query("SELECT line FROM study_lines WHERE study = $1 AND number > $2 ORDER BY number LIMIT $3", study,
                      after, limit))
    lines.push_back(row.text(0));
  return lines;
}

void set_study_counts(Database& database, int64_t study, int64_t trials, int64_t told) {
  database.query("UPDATE studies SET trials = $2, told = $3 WHERE number = $1", study, trials, told);
}

void check_study_lines(Database& database, int64_t study, int64_t lines) {
  const auto row = database.first("SELECT lines FROM studies WHERE number = $1", study);
  if (!row || row->integer(0) != lines)
    throw environment_error("[studies] a change before this one could not be written; ask again");
}

void append_study_line(Database& database, int64_t study, int64_t number, const std::string& line) {
  const auto next =
      database.query("UPDATE studies SET lines = $2, updated_ms = $3 WHERE number = $1 AND lines = $4 RETURNING number",
                     study, number, now_ms(), number - 1);
  if (next.empty())
    throw Refusal(RefusalKind::kState, fmt::format("[studies] line {} is not the study's next one; ask again", number));
  database.query("INSERT INTO study_lines (study, number, line) VALUES ($1, $2, $3)", study, number, line);
}

std::vector<StudyLease> study_leases(Database& database, int64_t study) {
  std::vector<StudyLease> leases;
  for (const Row& row :
       database.query("SELECT trial, holder, until_ms, given FROM study_leases WHERE study = $1 ORDER BY trial", study))
    leases.push_back({row.integer(0), row.text(1), row.integer(2), row.integer(3)});
  return leases;
}

void set_study_lease(Database& database, int64_t study, const StudyLease& lease) {
  database.query(
      "INSERT INTO study_leases (study, trial, holder, until_ms, given) VALUES ($1, $2, $3, $4, $5) ON CONFLICT "
      "(study, trial) DO UPDATE SET holder = excluded.holder, until_ms = excluded.until_ms, given = excluded.given",
      study, lease.trial, lease.holder, lease.until_ms, lease.given);
}

void remove_study_lease(Database& database, int64_t study, int64_t trial) {
  database.query("DELETE FROM study_leases WHERE study = $1 AND trial = $2", study, trial);
}

}  // namespace linac::catalog
