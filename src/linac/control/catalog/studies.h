#pragma once
// Studies of hyper-parameters (control/study/ledger.h), as the service keeps them: what was asked and told, a line
// each, and who has the trials that run. A study belongs to a user and to an experiment, which says who may read it.
// Functions work within the transaction that they are given.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/catalog/visibility.h"

namespace linac::catalog {

struct StudyRecord {
  int64_t number = 0;
  std::string name, user;
  int64_t experiment = 0;
  std::string file;  // the study's, as YAML
  int64_t created_ms = 0, updated_ms = 0;
  int64_t lines = 0, trials = 0, told = 0;
};

/// Letters, digits, '.', '_', '-', a letter or digit first, 200 at most: it is part of addresses. kInvalid.
void check_study_name(const std::string& name);
/// With its first line. kExists for a name that is taken, kInvalid for one that is none. Returns its number.
int64_t create_study(Database& database, const StudyRecord& study, const std::string& first_line);
/// kNotFound.
StudyRecord study(Database& database, const std::string& name);
std::optional<StudyRecord> find_study(Database& database, const std::string& name);
/// Those that the viewer may read, the newest first: at most `limit`, of a number less than `before` (0: any). `user`:
/// of this one alone, if not empty.
std::vector<StudyRecord> studies(Database& database, const Viewer& viewer, const std::string& user, int64_t before,
                                 int64_t limit);
void set_study_file(Database& database, int64_t study, const std::string& file);
/// With its lines and leases; its name is free then.
void remove_study(Database& database, int64_t study);

/// Those after the first `after`, in order, at most `limit`.
std::vector<std::string> study_lines(Database& database, int64_t study, int64_t after, int64_t limit);
void set_study_counts(Database& database, int64_t study, int64_t trials, int64_t told);
/// Environment error unless the study has so many lines: what was to make them so many has failed.
void check_study_lines(Database& database, int64_t study, int64_t lines);
/// Line number `number`, counted from 1; kState unless it is the next one.
void append_study_line(Database& database, int64_t study, int64_t number, const std::string& line);

/// Who has a trial that runs, and until when nobody else is given it.
struct StudyLease {
  int64_t trial = 0;
  std::string holder;  // a word that whoever asked knows
  int64_t until_ms = 0;
  int64_t given = 1;  // so often
};
std::vector<StudyLease> study_leases(Database& database, int64_t study);
void set_study_lease(Database& database, int64_t study, const StudyLease& lease);
void remove_study_lease(Database& database, int64_t study, int64_t trial);

}  // namespace linac::catalog
