#pragma once
// Studies that the queue carries out: that somebody has submitted one, how that stands, and the run of each trial.
// What was asked and told of a study is with its lines (studies.h); here is who works at it. Functions work within the
// transaction that they are given.

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "linac/control/catalog/queue.h"
#include "linac/control/catalog/studies.h"

namespace linac::catalog {

enum class StudyState {
  kRunning,  // trials are asked for and submitted
  kStopped,  // by somebody: its jobs were cancelled, and go on when it is submitted again
  kFailed,   // the same, by an error
  kDone      // all trials of its budget are told
};
const char* to_string(StudyState state);  // "running"

struct SubmittedStudy {
  StudyRecord study;
  StudyState state = StudyState::kRunning;
  std::string reason;        // why it ended so, or what it waits for
  std::string wishes;        // for its jobs, in the words of whoever submits them
  int64_t submitted_ms = 0;  // last
};

/// From now on it is carried out, with these wishes; also one that had been stopped or done.
void submit_study(Database& database, int64_t study, const std::string& wishes);
std::optional<SubmittedStudy> submitted_study(Database& database, int64_t study);
/// The names of those that are not done.
std::vector<std::string> submitted_studies(Database& database);
/// False, and no change, for one that does not run or that was submitted again after `submitted_ms`.
bool set_study_state(Database& database, int64_t study, int64_t submitted_ms, StudyState state,
                     const std::string& reason);

/// Why the study itself ended a job, by cancelling it.
enum class StudyEnding { kNone, kPruned, kStopped };

struct StudyJob {
  int64_t trial = 0;
  std::string run;  // its id
  RunState state = RunState::kPending;
  std::string reason;  // of that state
  StudyEnding ending = StudyEnding::kNone;
  std::string why;         // it was pruned
  bool under_way = false;  // it waits or runs: a client may say that the run has ended while its job goes on
};

/// The run of a trial. kState if it has one.
void add_study_job(Database& database, int64_t study, int64_t trial, const std::string& run);
/// The trial is to have another one.
void forget_study_job(Database& database, int64_t study, int64_t trial);
std::optional<StudyJob> study_job(Database& database, int64_t study, int64_t trial);
/// Those of trials after the first `after`, in order, at most `limit`.
std::vector<StudyJob> study_jobs(Database& database, int64_t study, int64_t after, int64_t limit);
/// Those that wait or run.
std::vector<StudyJob> study_jobs_under_way(Database& database, int64_t study);
/// Cancels the job of a trial, for good or until the study goes on. False, and no change, if it has ended or was
/// cancelled before.
bool end_study_job(Database& database, int64_t study, const StudyJob& job, StudyEnding ending, const std::string& why);
/// A job that was ended by kStopped goes back into the queue; kState as resume().
void resume_study_job(Database& database, int64_t study, const StudyJob& job);

}  // namespace linac::catalog
