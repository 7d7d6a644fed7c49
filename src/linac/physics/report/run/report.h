#pragma once
// What `linac report` shows: where the workers' time of a run went, who came and went, who was slow, what it cost; as a
// page, as JSON, as pictures and as lines of text. Pure, thread-safe.

#include <cstdint>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/job/run_history.h"
#include "linac/physics/report/page/named_picture.h"
#include "linac/physics/report/run/actual.h"

namespace linac::report {

using job::EpochInput;
using job::PhaseSeconds;
using job::RunAccount;
using job::RunMember;
using job::RunRecord;
using job::RunStart;
using job::RunView;
using job::WorkerKey;

/// EUR for an hour of a worker.
struct HostPrices {
  std::map<std::string, double> by_host;
  std::optional<double> otherwise;
};

/// A worker that is slower than the median by more is named.
constexpr double kSlow = 1.2;

/// Where seconds of workers went.
struct TimeSplit {
  double seconds = 0;  // from the entry to the loss or the end
  PhaseSeconds phases{};
  double waiting = 0;  // in no phase
  double unknown = 0;  // after the last account

  double computing() const;
  /// computing / seconds; NaN without seconds. What is unknown counts as not computing.
  double efficiency() const;
  /// The same if the unknown time was computing.
  double efficiency_max() const;
  TimeSplit& operator+=(const TimeSplit& other);
};

enum class Departure { kStayed, kLost };

struct RunSpan {
  double begin = 0, end = 0;  // unix seconds
  int replicas = 0;
};

struct RunWorker {
  WorkerKey key;
  size_t start = 0;
  std::vector<RunSpan> spans;  // one a view, in order
  Departure departure = Departure::kStayed;
  std::string reason;  // of its loss
  TimeSplit time;
  bool accounted = false;  // the record holds an account of it
  int64_t steps = 0;       // that it took part in, up to its last account
  job::StepTime step_time;
  std::optional<job::ToldReading> reading;
  int64_t sent_bytes = 0;
  double exchange_s = 0;
  double replicas = 0;                                         // carried on average over time
  double pace_s = 0;                                           // the median over its accounts; 0: not known
  double slowness = std::numeric_limits<double>::quiet_NaN();  // median of pace / median pace of the workers
  double price = 0;                                            // EUR an hour

  double entered() const { return spans.front().begin; }
  double left() const { return spans.back().end; }
  bool slow() const { return slowness > kSlow; }
};

/// From one view to the next within a start.
struct RunChange {
  size_t start = 0;
  double time = 0, seconds = 0;
  int64_t global_step = 0;
  int workers = 0;  // from then on
  std::vector<WorkerKey> lost, joined;
  std::vector<std::string> reasons;  // of the losses
};

/// Seconds without training.
struct Pauses {
  int64_t number = 0;
  double sum = 0, median = 0, longest = 0;
};

/// How long the training waited for its events: the first epoch may read them over a link, later ones from the cache.
struct InputWaits {
  double first_s = 0;             // of the first epoch, the opening of the data included
  double opened_s = 0;            // of that, before the first step
  std::optional<double> later_s;  // the median of later epochs
};

struct Cost {
  double total = 0, not_computing = 0;
  std::optional<double> per_epoch, per_1000_events;
};

struct RunReport {
  std::string title;
  RunRecord record;
  double wall_s = 0;                      // of all starts, without the time between them
  TimeSplit time;                         // of all workers
  job::StepTime step_time;                // likewise
  double starting_s = 0, changing_s = 0;  // worker seconds before the first views of starts, and between views
  std::vector<RunWorker> workers;         // by start and entry
  std::vector<RunChange> changes;
  Pauses all_changes, losses;                                         // of changes; and of those that lost somebody
  int64_t steps_redone = 0;                                           // by starts that went on from an older checkpoint
  double sent_per_step = std::numeric_limits<double>::quiet_NaN();    // bytes of a worker
  double hidden_fraction = std::numeric_limits<double>::quiet_NaN();  // 1 - exposed / all exchange
  std::optional<InputWaits> input;                                    // nothing before an epoch is done
  std::optional<job::ToldReading> reading;                            // of all workers that told of any
  std::optional<Cost> cost;
  job::RunEnergy energy;
  RunActual actual;
  std::vector<PlannedBeside> planned;  // beside what came of it
  std::vector<std::pair<std::string, std::string>> facts;
  std::vector<std::string> remarks;
};

/// The figures. User error where prices are given and a host has none.
RunReport make_run_report(RunRecord record, const std::optional<HostPrices>& prices);

/// How many times longer the first epoch waited than a later one; nothing where no later one waited.
std::optional<double> first_to_later(const InputWaits& input);

/// "gpu03 4711", with the host's name only where there are several.
std::string worker_name(const RunReport& report, const WorkerKey& key);

/// The workers' time, that of their steps, and who was there when.
std::vector<NamedPicture> draw(const RunReport& report);

/// One self-contained page (UTF-8) that opens offline, with every text escaped.
std::string to_html(const RunReport& report, const std::vector<NamedPicture>& pictures);

/// Schema: {"name", "status", "wall_s", "worker_s", "efficiency", "efficiency_max", "phases": {name: {"s", "share"}},
/// "step": null|{"s", "shares": {part: share}, "networks": {name: {part: share}}}, "trace": whether there is one,
/// "starting_s", "changing_s", "starts": [{"begin", "end", "status", "first_step", "last_step"}], "workers": [{"start",
/// "host", "pid", "entered", "left", "lost": null|reason, "s", "phases": {name: s}, "efficiency", "replicas", "pace_s",
/// "slowness", "slow", "steps", "sent_bytes", "exchange_s", "reading", "views": [{"begin", "end", "replicas"}]}],
/// "changes":
/// [{"start", "time", "global_step", "s", "workers", "lost": [[host, pid]], "joined", "reasons"}], "pauses",
/// "recoveries":
/// {"number", "s", "median_s", "longest_s"}, "steps": {"done", "twice", "missing", "redone_after_restarts"},
/// "communication": {"sent_bytes_per_step_and_worker", "hidden_fraction"}, "input": null|{"first_epoch_s",
/// "opened_s", "later_epochs_s", "first_to_later"}, "reading": null|{"store_bytes", "worker_bytes", "given_bytes",
/// "failed"}, "energy": {"kwh", "model_kwh", "idle_kwh", "co2_kg", "machines",
/// "methods"}, "cost": null|{"eur", "not_computing_eur",
/// "per_epoch_eur", "per_1000_events_eur"}, "actual": {"start_s", "step_s", "jitter", "hours", "kwh",
/// "co2_kg"}, "planned": [{"what", "unit",
/// "low", "middle", "high", "actual", "inside"}], "facts", "remarks"}. Times in unix seconds; what is not known is
/// null.
nlohmann::ordered_json to_json(const RunReport& report);

/// A few lines for a terminal.
std::string to_text(const RunReport& report);

}  // namespace linac::report
