#pragma once
// What a run leaves for others to read: the lines of metrics.jsonl and run.json (docs/reference/run-record.md). They
// are written and read here and nowhere else. A line is a JSON object; its member "kind" says which of the structs
// below, or of group_lines.h, it is.
//
// Reading takes what is there: kinds and members that are not known are passed over, so that a newer linac may add
// some, and the last line may be half of one. Only what an older linac would misread raises kRecordVersion; a record of
// a newer version is refused. NaN and infinities are texts ("NaN", "-Infinity"), for JSON has no such numbers.
// Functions and types are thread-safe for different objects.

#include <cstdint>
#include <map>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "linac/base/job/group_lines.h"
#include "linac/base/job/measures.h"
#include "linac/base/job/phases.h"
#include "linac/base/job/record_fields.h"
#include "linac/base/job/step_time.h"
#include "linac/base/job/told_energy.h"
#include "linac/base/job/told_reading.h"
#include "linac/base/job/training_outline.h"

namespace linac::job {

inline constexpr int64_t kRecordVersion = 1;

/// In a folder of a run.
inline constexpr const char* kMetricsFile = "metrics.jsonl";
inline constexpr const char* kSummaryFile = "run.json";
inline constexpr const char* kTraceFile = "trace.json";

/// Events or showers a second; the member's name says which: "showers_per_s".
struct Rate {
  std::string unit;
  double per_s = 0;
};

/// A step that counts: the training stands behind it.
struct StepLine {
  static constexpr const char* kKind = "step";
  int64_t epoch = -1, step = -1, global_step = -1;
  std::optional<double> lr;
  Measures loss;

  template <class V>
  static void fields(V&& v) {
    v({"epoch", "", "from 0"}, &StepLine::epoch);
    v({"step", "", "steps of this epoch that are done, this one included"}, &StepLine::step);
    v({"global_step", "", "steps of the training that are done", Need::kNeeded}, &StepLine::global_step);
    v({"lr", "", "learning rate of the step"}, &StepLine::lr);
    v({"loss", "", "means over the step's events"}, &StepLine::loss);
  }
};

struct EpochLine {
  static constexpr const char* kKind = "epoch";
  int64_t epoch = -1, global_step = -1;
  Measures train, test, physics;
  std::vector<std::string> signs_of_collapse;
  std::optional<double> seconds, input_s, opened_s;
  Rate rate;

  template <class V>
  static void fields(V&& v) {
    v({"epoch", "", "the one that is done, from 0"}, &EpochLine::epoch);
    v({"global_step", "", "steps of the training that are done"}, &EpochLine::global_step);
    v({"train", "", "means over the epoch's steps"}, &EpochLine::train);
    v({"test", "", "means over the test data; empty without"}, &EpochLine::test);
    v({"physics", "", "figures of the comparison of test showers; empty where none were due"}, &EpochLine::physics);
    v({"signs_of_collapse", "", "what looks wrong about the showers, in words"}, &EpochLine::signs_of_collapse);
    v({"seconds", "s", "how long it took, test included"}, &EpochLine::seconds);
    v({"input_s", "s", "in which the worker that writes the record waited for its next batch"}, &EpochLine::input_s);
    v({"opened_s", "s", "before its first step, in which that worker opened the data", Need::kSpare,
       "the first epoch of a start"},
      &EpochLine::opened_s);
    v({"UNIT_per_s", "1/s", "its rate; UNIT is `showers` or `events`"}, &EpochLine::rate);
  }
};

/// The training has collapsed and went back to an earlier state. The steps after it bear numbers that were there
/// before.
struct RollbackLine {
  static constexpr const char* kKind = "rollback";
  int64_t epoch = -1, global_step = -1, rollbacks = 0;
  std::string what, where;

  template <class V>
  static void fields(V&& v) {
    v({"epoch", "", "where the training goes on"}, &RollbackLine::epoch);
    v({"global_step", "", "where the training goes on"}, &RollbackLine::global_step);
    v({"rollbacks", "", "of the run, this one included"}, &RollbackLine::rollbacks);
    v({"what", "", "what had happened"}, &RollbackLine::what);
    v({"where", "", "in which step"}, &RollbackLine::where);
  }
};

/// Lines of steps that a start of the run did not find any more, though these steps were done.
struct GapLine {
  static constexpr const char* kKind = "gap";
  int64_t first = -1, last = -1, steps = 0, global_step = -1;

  template <class V>
  static void fields(V&& v) {
    v({"first", "", "`global_step` of the first line that is lost", Need::kNeeded}, &GapLine::first);
    v({"last", "", "of the last one", Need::kNeeded}, &GapLine::last);
    v({"steps", "", "how many are lost of those between", Need::kNeeded}, &GapLine::steps);
    v({"global_step", "", "steps that were done when that was found", Need::kNeeded}, &GapLine::global_step);
  }
};

/// The workers from now on: the first line of each start of a run, and one after each change of the workers.
struct ViewLine {
  static constexpr const char* kKind = "view";
  std::optional<int64_t> record = kRecordVersion;
  double time = 0, seconds = 0;
  int64_t view = 0, global_step = -1;
  std::string why;
  std::vector<ViewMember> members;

  template <class V>
  static void fields(V&& v) {
    v({"record", "", "version of the record", Need::kSpare, "from version 1 on"}, &ViewLine::record);
    v({"time", "s since 1970", "when training began in this view", Need::kNeeded}, &ViewLine::time);
    v({"global_step", "", "steps that were done by then", Need::kNeeded}, &ViewLine::global_step);
    v({"view", "", "number, rising within a start", Need::kNeeded}, &ViewLine::view);
    v({"why", "", "why the workers are others than before; empty at a start", Need::kNeeded}, &ViewLine::why);
    v({"seconds", "s", "before `time`, in which nobody trained", Need::kNeeded}, &ViewLine::seconds);
    v({"members", "", "the workers by rank", Need::kNeeded}, &ViewLine::members);
  }
};

struct PhaseTime {
  static constexpr const char* kName = "PhaseTime";
  double wall_s = 0, cpu_s = 0;

  template <class V>
  static void fields(V&& v) {
    v({"wall_s", "s", "by the clock", Need::kNeeded}, &PhaseTime::wall_s);
    v({"cpu_s", "s", "of the process's threads"}, &PhaseTime::cpu_s);
  }
};

/// What a worker has done since its process began, as it tells of itself.
struct WorkerAccount {
  static constexpr const char* kName = "WorkerAccount";
  std::string host;
  int64_t pid = 0;
  std::map<Phase, PhaseTime> phases;
  double cpu_s = 0, exchange_s = 0;
  int64_t sent_bytes = 0, sent_messages = 0;
  std::optional<StepTime> steps;
  std::optional<ToldEnergy> energy;
  std::optional<ToldReading> reading = {};
  std::optional<int64_t> rank;
  std::optional<double> pace_s;

  PhaseTime time_in(Phase phase) const;  // 0 if it does not tell

  template <class V>
  static void fields(V&& v) {
    v({"host", "", "", Need::kNeeded}, &WorkerAccount::host);
    v({"pid", "", "process on the host", Need::kNeeded}, &WorkerAccount::pid);
    v({"phases", "", "time by phase", Need::kNeeded}, &WorkerAccount::phases);
    v({"cpu_s", "s", "of the process", Need::kNeeded}, &WorkerAccount::cpu_s);
    v({"sent_bytes", "bytes", "to other workers", Need::kNeeded}, &WorkerAccount::sent_bytes);
    v({"sent_messages", "", "to other workers", Need::kNeeded}, &WorkerAccount::sent_messages);
    v({"exchange_s", "s", "in which messages of a sum were under way, hidden by computing or not", Need::kNeeded},
      &WorkerAccount::exchange_s);
    v({"steps", "", "where the time of its steps went", Need::kSpare, "unless an older linac wrote it"},
      &WorkerAccount::steps);
    v({"energy", "", "of its machine", Need::kSpare, "unless an older linac wrote it"}, &WorkerAccount::energy);
    v({"reading", "", "of stores' files", Need::kSpare, "workers share what they read"}, &WorkerAccount::reading);
    v({"rank", "", "in the view", Need::kSpare, "told during training"}, &WorkerAccount::rank);
    v({"pace_s", "s", "wall time of a replica of a step, smoothed; 0: not known", Need::kSpare, "told during training"},
      &WorkerAccount::pace_s);
  }
};

/// The workers' times, every 10 s.
struct WorkersLine {
  static constexpr const char* kKind = "workers";
  double time = 0;
  int64_t global_step = -1, view = 0;
  std::vector<WorkerAccount> workers;

  template <class V>
  static void fields(V&& v) {
    v({"time", "s since 1970", "", Need::kNeeded}, &WorkersLine::time);
    v({"global_step", "", "steps that were done by then", Need::kNeeded}, &WorkersLine::global_step);
    v({"view", "", "its number"}, &WorkersLine::view);
    v({"workers", "", "those that were heard", Need::kNeeded}, &WorkersLine::workers);
  }
};

/// The training has ended. Another start of the run may follow.
struct EndLine {
  static constexpr const char* kKind = "end";
  double time = 0;
  int64_t global_step = -1;
  std::string status;
  std::vector<WorkerAccount> workers;

  template <class V>
  static void fields(V&& v) {
    v({"time", "s since 1970", "", Need::kNeeded}, &EndLine::time);
    v({"global_step", "", "steps that were done", Need::kNeeded}, &EndLine::global_step);
    v({"status", "", "as in run.json", Need::kNeeded}, &EndLine::status);
    v({"workers", "", "the workers' times", Need::kNeeded}, &EndLine::workers);
  }
};

/// A line of a kind that this linac does not know.
struct OtherLine {
  std::string kind;
  int64_t epoch = -1, global_step = -1;

  template <class V>
  static void fields(V&& v) {
    v({"epoch", "", ""}, &OtherLine::epoch);
    v({"global_step", "", ""}, &OtherLine::global_step);
  }
};

using RunLine = std::variant<OtherLine, StepLine, EpochLine, RollbackLine, RoundLine, GapLine, AuditLine, ViewLine,
                             WorkersLine, EndLine>;

/// The line's text, without its end.
std::string to_text(const RunLine& line);

/// -1: it says none.
int64_t global_step_of(const RunLine& line);
/// Unix seconds; 0: it says none.
double time_of(const RunLine& line);
/// Whether the line still stands when a training goes on after `global_step` steps, at the begin of `epoch` or within
/// it: what speaks of the workers does, steps and epochs behind it do not.
bool stands_before(const RunLine& line, int64_t global_step, int64_t epoch);

enum class LineState {
  kNone,     // no JSON object
  kDamaged,  // an object that lacks what its kind needs; what it has is read
  kWhole,    // also of kinds that are not known
};
struct ReadLine {
  LineState state = LineState::kNone;
  RunLine line;
};
/// The measures of steps are most of a file.
enum class Wanted { kAll, kNoStepMeasures };

/// Reads lines one by one. Keeps nothing of them.
class LineReader {
 public:
  /// `where` names the file or run in errors: "runs/a/metrics.jsonl".
  explicit LineReader(std::string where, Wanted wanted = Wanted::kAll) : where_(std::move(where)), wanted_(wanted) {}

  /// User error if the line says that the record is of a newer version than kRecordVersion; nothing else is thrown.
  ReadLine read(std::string_view text) const;

 private:
  std::string where_;
  Wanted wanted_;
};

/// A file of the data, by role ("train", "test").
struct DataFile {
  static constexpr const char* kName = "DataFile";
  std::string url, format, fingerprint;
  int64_t events = -1, bytes = -1;
  std::optional<int64_t> kept;
  std::optional<int64_t> stored = {}, passed = {};

  template <class V>
  static void fields(V&& v) {
    v({"url", "", "path or address"}, &DataFile::url);
    v({"format", "", "how it is read"}, &DataFile::format);
    v({"events", "", "of it that have this role; -1: not known at the start (data.shuffle_window)"}, &DataFile::events);
    v({"kept", "", "of these, by the job's cuts", Need::kSpare, "files of showers"}, &DataFile::kept);
    v({"stored", "", "events of the file", Need::kSpare, "jobs that select or compute"}, &DataFile::stored);
    v({"passed", "", "of these, those that data.filter selects", Need::kSpare, "jobs that select or compute"},
      &DataFile::passed);
    v({"bytes", "bytes", "its size"}, &DataFile::bytes);
    v({"fingerprint", "", "of its content"}, &DataFile::fingerprint);
  }
};
using DataFiles = std::map<std::string, std::vector<DataFile>>;

/// Files that trained a run before others took their place (`linac train --accept-data`).
struct FormerData {
  static constexpr const char* kName = "FormerData";
  int64_t until_step = -1;
  DataFiles data;

  template <class V>
  static void fields(V&& v) {
    v({"until_step", "", "the steps that they trained are those before"}, &FormerData::until_step);
    v({"data", "", "files by role"}, &FormerData::data);
  }
};

struct HostFacts {
  static constexpr const char* kName = "HostFacts";
  std::string name;
  int64_t cores = 0;
  std::optional<std::string> processor = {};

  template <class V>
  static void fields(V&& v) {
    v({"name", "", ""}, &HostFacts::name);
    v({"cores", "", "hardware threads"}, &HostFacts::cores);
    v({"processor", "", "which it is", Need::kSpare, "unless an older linac wrote it"}, &HostFacts::processor);
  }
};

struct OutputClasses {
  static constexpr const char* kName = "OutputClasses";
  std::string output;
  std::vector<std::string> classes;

  template <class V>
  static void fields(V&& v) {
    v({"output", "", "of the model"}, &OutputClasses::output);
    v({"classes", "", "in its order"}, &OutputClasses::classes);
  }
};

struct BestEpoch {
  static constexpr const char* kName = "BestEpoch";
  int64_t epoch = -1;
  std::string by;
  double value = 0;

  template <class V>
  static void fields(V&& v) {
    v({"epoch", "", "from 0; -1: none yet"}, &BestEpoch::epoch);
    v({"by", "", "the measure that decides (checkpoint.best_by)"}, &BestEpoch::by);
    v({"value", "", "of that measure"}, &BestEpoch::value);
  }
};

struct EpochPace {
  static constexpr const char* kName = "EpochPace";
  int64_t epoch = -1;
  double seconds = 0;
  Rate rate;

  template <class V>
  static void fields(V&& v) {
    v({"epoch", "", "from 0"}, &EpochPace::epoch);
    v({"seconds", "s", "test included"}, &EpochPace::seconds);
    v({"UNIT_per_s", "1/s", "its rate"}, &EpochPace::rate);
  }
};

struct RunError {
  static constexpr const char* kName = "RunError";
  std::string kind, message;
  int64_t exit_code = 0;

  template <class V>
  static void fields(V&& v) {
    v({"kind", "", "the class of the error in words"}, &RunError::kind);
    v({"exit_code", "", "exit status of the worker"}, &RunError::exit_code);
    v({"message", "", "as the log has it"}, &RunError::message);
  }
};

/// run.json: where the run stands and what it stands on. Written anew at the start, after each epoch and at the end.
struct RunSummary {
  static constexpr const char* kName = "RunSummary";
  std::optional<int64_t> record = kRecordVersion;
  std::string name, status, folder, started, updated, linac, build_type, libtorch, isa;
  std::optional<std::string> id, branch_of;
  std::optional<HostFacts> host;
  int64_t workers = -1, replicas_side_by_side = -1;
  std::optional<TrainingOutline> outline;
  uint64_t seed = 0;
  DataFiles data;
  std::optional<std::vector<FormerData>> former_data;
  std::optional<std::vector<OutputClasses>> classes;
  int64_t first_step_of_this_start = -1, global_step = -1, epochs_done = -1, rollbacks = -1;
  std::optional<BestEpoch> best;
  std::optional<int64_t> handed_over_epoch;
  std::vector<EpochPace> epochs;
  double wall_s = 0;
  std::optional<RunError> error;
  std::optional<RunEnergy> energy;
  std::optional<std::vector<WorkerAccount>> time_by_worker;

  template <class V>
  static void fields(V&& v) {
    v({"record", "", "version of the record", Need::kSpare, "from version 1 on"}, &RunSummary::record);
    v({"name", "", "of the job"}, &RunSummary::name);
    v({"status", "", "`running`, `succeeded`, `interrupted` or `failed`"}, &RunSummary::status);
    v({"id", "", "that its checkpoints bear; of runs that compute the same it is the same", Need::kSpare,
       "unless an older linac began the run"},
      &RunSummary::id);
    v({"branch_of", "", "the run whose checkpoint it began from", Need::kSpare, "branches"}, &RunSummary::branch_of);
    v({"folder", "", "in which this start began: relative paths of job.yaml count from there"}, &RunSummary::folder);
    v({"started", "UTC", "when this start of the run began, `2026-11-22T10:57:07Z`"}, &RunSummary::started);
    v({"updated", "UTC", "when this file was written"}, &RunSummary::updated);
    v({"linac", "", "version"}, &RunSummary::linac);
    v({"build_type", "", "of the program"}, &RunSummary::build_type);
    v({"libtorch", "", "version"}, &RunSummary::libtorch);
    v({"isa", "", "instruction set of the kernels"}, &RunSummary::isa);
    v({"host", "", "of the worker that writes the record"}, &RunSummary::host);
    v({"workers", "", "now"}, &RunSummary::workers);
    v({"replicas_side_by_side", "", "that this worker computes at a time"}, &RunSummary::replicas_side_by_side);
    v({"outline", "", "what a plan needs of the training", Need::kSpare, "unless an older linac wrote it"},
      &RunSummary::outline);
    v({"seed", "", "of the job"}, &RunSummary::seed);
    v({"data", "", "files by role, `train` and `test`"}, &RunSummary::data);
    v({"former_data", "", "the files that trained it before these", Need::kSpare, "went on with --accept-data"},
      &RunSummary::former_data);
    v({"classes", "", "of the outputs whose targets are texts", Need::kSpare, "with such targets"},
      &RunSummary::classes);
    v({"first_step_of_this_start", "", "steps that were done before it"}, &RunSummary::first_step_of_this_start);
    v({"global_step", "", "steps that are done"}, &RunSummary::global_step);
    v({"epochs_done", "", ""}, &RunSummary::epochs_done);
    v({"rollbacks", "", "after collapses"}, &RunSummary::rollbacks);
    v({"best", "", "the best epoch so far"}, &RunSummary::best);
    v({"handed_over_epoch", "", "the networks in models/ are those behind so many epochs", Need::kSpare, "succeeded"},
      &RunSummary::handed_over_epoch);
    v({"epochs", "", "of this start"}, &RunSummary::epochs);
    v({"wall_s", "s", "since this start began"}, &RunSummary::wall_s);
    v({"error", "", "why it ended", Need::kSpare, "failed or interrupted"}, &RunSummary::error);
    v({"energy", "", "of all starts", Need::kSpare, "unless an older linac wrote it"}, &RunSummary::energy);
    v({"time_by_worker", "", "the workers' times", Need::kSpare, "ended"}, &RunSummary::time_by_worker);
  }
};

/// The text of run.json.
std::string to_text(const RunSummary& summary);
/// What `text` has of a summary; nothing if it is no JSON object. User error naming `where` for a newer version.
std::optional<RunSummary> read_summary(std::string_view text, const std::string& where);

/// An account on its way from worker to worker. Of a text that is none an empty one is read.
std::string to_text(const WorkerAccount& account);
WorkerAccount read_account(std::string_view text);

/// Parts of the record within other documents. data_files_from() takes what is there.
nlohmann::json to_json(const WorkerAccount& account);
nlohmann::json to_json(const RunLine& line);
DataFiles data_files_from(const nlohmann::json& json);

}  // namespace linac::job
