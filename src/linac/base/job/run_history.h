#pragma once
// What a run's folder says of its workers and steps, read from metrics.jsonl, run.json, job.yaml and log.txt. A run may
// have been started several times, may still go on or have been killed: what is missing stays empty. Thread-safe for
// different folders.

#include <array>
#include <cstdint>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/phases.h"
#include "linac/base/job/run_energy.h"
#include "linac/base/job/run_record.h"

namespace linac::job {

/// Wall seconds in the order of kPhases.
using PhaseSeconds = std::array<double, kPhases.size()>;

/// A process: host and process id.
using WorkerKey = std::pair<std::string, int64_t>;

struct RunMember {
  WorkerKey worker;
  int replicas = 0;
};

struct RunView {
  double time = 0;     // unix seconds, when its training began
  double seconds = 0;  // before that nobody trained: the start, or the change of the workers
  int64_t number = 0, global_step = 0;
  std::string why;
  std::vector<RunMember> members;  // by rank

  double begin() const { return time - seconds; }
};

/// What a worker had done when it was written into the record, since its process began.
struct RunAccount {
  double time = 0;
  int64_t global_step = 0;
  WorkerKey worker;
  PhaseSeconds wall{};
  double cpu_s = 0, exchange_s = 0;
  int64_t sent_bytes = 0, sent_messages = 0;
  double pace_s = 0;                        // wall time of a replica of a step; 0: not known
  StepTime step_time;                       // without steps: not known; all finite, 0 or more
  std::optional<ToldReading> reading = {};  // 0 or more each, and no more than a run could
};

/// From `linac train` to its end; --resume makes another one.
struct RunStart {
  std::vector<RunView> views;                     // at least one
  std::vector<std::vector<RunAccount>> accounts;  // those of one moment together, by time
  std::optional<double> ended;                    // unix seconds, if the record was closed
  std::string status;                             // "succeeded", "interrupted", "failed"; empty while not ended
  int64_t last_step = 0;                          // the highest that any line names

  double begin() const { return views.front().begin(); }
  /// The end, or the last moment that the record speaks of.
  double end() const;
};

/// What the input of an epoch took, of the worker that wrote the record.
struct EpochInput {
  double waited_s = 0;
  double opened_s = 0;  // before its first step
};

/// What the rounds of groups that train apart took and came to (RoundLine), of the worker that wrote the record.
struct RunRounds {
  int64_t rounds = 0, steps = 0, bytes = 0;
  int64_t anew = 0;  // groups that began a round anew
  double wait_s = 0, exchange_s = 0;
  double first_drift = 0, last_drift = 0;
  double staleness = 0;  // mean over the rounds
  int64_t staleness_max = 0;
};

struct RunRecord {
  std::filesystem::path folder;
  std::string name, status, error;                         // as in run.json
  std::vector<std::pair<std::string, std::string>> facts;  // of run.json
  std::vector<RunStart> starts;
  std::map<WorkerKey, std::string> losses;                // why the log says that a worker was lost
  std::string unit = "events";                            // or "showers"
  int64_t events_per_step = 0;                            // 0: not known
  int64_t steps = 0, steps_twice = 0, steps_missing = 0;  // lines of steps
  std::vector<AuditLine> audits;                          // that found somebody
  std::vector<GapLine> gaps;                              // those that are missing
  int64_t epochs = 0, rollbacks = 0;
  RunRounds rounds;
  bool traced = false;             // there is a trace
  std::vector<EpochInput> inputs;  // of the epochs of which it is known
  Planned planned;                 // in its job.yaml
  Budget budget;                   // likewise
  ToldEnergies energies;
  int64_t damaged_lines = 0;
  bool last_line_cut = false;  // by a kill, or it is being written
};

/// User error if there is no folder, no run in it, or one that a newer linac has written.
RunRecord read_run_record(const std::filesystem::path& folder);

}  // namespace linac::job
