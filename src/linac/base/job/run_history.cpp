#include "linac/base/job/run_history.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <fstream>
#include <regex>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/config.h"
#include "linac/base/base/error.h"
#include "linac/base/job/run_record.h"
#include "linac/base/job/run_states.h"
#include "linac/base/job/step_gaps.h"

namespace linac::job {
namespace {

RunView view_of(const ViewLine& line) {
  RunView view{.time = line.time,
               .seconds = std::max(0.0, line.seconds),
               .number = line.view,
               .global_step = line.global_step,
               .why = line.why,
               .members = {}};
  for (const ViewMember& member : line.members)
    view.members.push_back({{member.host, member.pid}, static_cast<int>(member.replicas)});
  return view;
}

// Of another hand it may be anything.
bool is_sound(const StepTime& time) {
  constexpr double kMost = 1e12;
  constexpr size_t kNetworksMax = 64;
  const auto holds = [](double seconds) { return seconds >= 0 && seconds < kMost; };
  return time.steps > 0 && time.wall_s > 0 && holds(time.wall_s) && holds(time.input_s) &&
         time.networks.size() <= kNetworksMax && std::ranges::all_of(kNetworkParts, [&](const NetworkPart& part) {
           return std::ranges::all_of(time.networks, [&](const auto& network) { return holds(network.*part.seconds); });
         });
}

bool is_sound(const ToldReading& reading) {
  constexpr int64_t kMost = int64_t{1} << 50;
  const auto holds = [](int64_t number) { return number >= 0 && number < kMost; };
  return holds(reading.store_bytes) && holds(reading.worker_bytes) && holds(reading.given_bytes) &&
         holds(reading.failed);
}

RunAccount account_of(const WorkerAccount& worker, double time, int64_t global_step) {
  RunAccount account{.time = time,
                     .global_step = global_step,
                     .worker = {worker.host, worker.pid},
                     .cpu_s = worker.cpu_s,
                     .exchange_s = worker.exchange_s,
                     .sent_bytes = worker.sent_bytes,
                     .sent_messages = worker.sent_messages,
                     .pace_s = worker.pace_s.value_or(0),
                     .step_time = worker.steps && is_sound(*worker.steps) ? *worker.steps : StepTime()};
  if (worker.reading && is_sound(*worker.reading)) account.reading = worker.reading;
  for (const auto& [phase, seconds] : worker.phases) account.wall[static_cast<size_t>(phase)] = seconds.wall_s;
  return account;
}

std::vector<RunAccount> accounts_of(const std::vector<WorkerAccount>& workers, double time, int64_t global_step) {
  std::vector<RunAccount> accounts;
  for (const WorkerAccount& worker : workers) accounts.push_back(account_of(worker, time, global_step));
  return accounts;
}

// Puts the lines of metrics.jsonl together.
class Reader {
 public:
  explicit Reader(RunRecord& record) : record_(record) {}

  // False for a line that says nothing that could be.
  bool line(const RunLine& line) {
    if (const auto* view = std::get_if<ViewLine>(&line)) {
      if (view->members.empty()) return false;
      add(view_of(*view));
    } else if (const auto* step = std::get_if<StepLine>(&line)) {
      steps_.push_back(step->global_step);
    } else if (const auto* epoch = std::get_if<EpochLine>(&line)) {
      ++record_.epochs;
      if (!epoch->rate.unit.empty()) record_.unit = epoch->rate.unit;
      if (epoch->input_s) record_.inputs.push_back({*epoch->input_s, epoch->opened_s.value_or(0)});
    } else if (std::holds_alternative<RollbackLine>(line)) {
      ++record_.rollbacks;
    } else if (const auto* round = std::get_if<RoundLine>(&line)) {
      add(*round);
    } else if (const auto* gap = std::get_if<GapLine>(&line)) {
      last_ = std::max(last_, gap->last);
    } else if (const auto* audit = std::get_if<AuditLine>(&line)) {
      record_.audits.push_back(*audit);
    }
    if (const auto* one = std::get_if<WorkersLine>(&line)) record_.energies.add(one->workers);
    if (const auto* end = std::get_if<EndLine>(&line)) record_.energies.add(end->workers);
    if (record_.starts.empty()) return true;
    RunStart& start = record_.starts.back();
    if (const auto* one = std::get_if<WorkersLine>(&line))
      start.accounts.push_back(accounts_of(one->workers, one->time, one->global_step));
    if (const auto* end = std::get_if<EndLine>(&line)) {
      start.status = end->status;
      start.accounts.push_back(accounts_of(end->workers, end->time, end->global_step));
      start.ended = end->time;
    }
    start.last_step = std::max(start.last_step, global_step_of(line));
    return true;
  }

  void add(const RoundLine& line) {
    RunRounds& rounds = record_.rounds;
    if (rounds.rounds++ == 0) rounds.first_drift = line.drift;
    rounds.last_drift = line.drift;
    rounds.staleness += (line.staleness - rounds.staleness) / static_cast<double>(rounds.rounds);
    rounds.staleness_max = std::max(rounds.staleness_max, line.staleness_max);
    rounds.steps += line.steps;
    rounds.bytes += line.bytes;
    rounds.anew += static_cast<int64_t>(line.anew.size());
    rounds.wait_s += line.wait_s;
    rounds.exchange_s += line.exchange_s;
  }

  void finish() {
    std::sort(steps_.begin(), steps_.end());
    if (!steps_.empty()) last_ = std::max(last_, steps_.back());
    record_.steps_twice = static_cast<int64_t>(steps_.size());
    steps_.erase(std::unique(steps_.begin(), steps_.end()), steps_.end());
    record_.steps = static_cast<int64_t>(steps_.size());
    record_.steps_twice -= record_.steps;
    record_.gaps = gaps_between(begin_, last_, std::move(steps_));
    for (const GapLine& gap : record_.gaps) record_.steps_missing += gap.steps;
  }
  /// The steps that were done before the record begins: another run's, of which this is a branch.
  void begin_after(int64_t steps) { begin_ = last_ = steps; }

 private:
  // The views of a start are numbered upwards. One may follow an "end": of a writer that failed and was replaced.
  void add(RunView view) {
    const bool goes_on = !record_.starts.empty() && view.number > record_.starts.back().views.back().number &&
                         record_.starts.back().status != to_string(RunStatus::kSucceeded);
    if (!goes_on) record_.starts.emplace_back();
    RunStart& start = record_.starts.back();
    start.ended.reset();
    start.status.clear();
    start.views.push_back(std::move(view));
  }

  RunRecord& record_;
  std::vector<int64_t> steps_;
  int64_t begin_ = 0, last_ = 0;
};

void read_metrics(const std::filesystem::path& path, RunRecord& record) {
  std::ifstream file(path, std::ios::binary);
  const LineReader lines(path.string(), Wanted::kNoStepMeasures);
  Reader reader(record);
  std::string text;
  for (bool is_first = true; std::getline(file, text); is_first = false) {
    const auto [state, line] = lines.read(text);
    if (const auto* view = std::get_if<ViewLine>(&line); view != nullptr && is_first)
      reader.begin_after(view->global_step);
    if (state == LineState::kWhole && reader.line(line)) continue;
    if (file.eof()) {
      record.last_line_cut = true;
    } else {
      ++record.damaged_lines;
    }
  }
  reader.finish();
}

// "2026-11-22T10:57:07Z"
std::optional<double> unix_time(const std::string& utc) {
  std::tm time{};
  if (strptime(utc.c_str(), "%Y-%m-%dT%H:%M:%SZ", &time) == nullptr) return std::nullopt;
  return static_cast<double>(timegm(&time));
}

void read_run_json(const std::filesystem::path& path, RunRecord& record) {
  const auto run = std::filesystem::exists(path) ? read_summary(read_file(path), path.string()) : std::nullopt;
  if (!run) return;
  record.name = run->name;
  record.status = run->status;
  record.error = run->error ? run->error->message : "";
  record.energies.add(run->time_by_worker.value_or(std::vector<WorkerAccount>()));
  for (const auto& [key, value] :
       {std::pair("linac", run->linac), std::pair("libtorch", run->libtorch), std::pair("isa", run->isa)})
    if (!value.empty()) record.facts.emplace_back(key, value);
  // The record of a run whose last line is lost: its last account is here too.
  if (record.starts.empty() || record.starts.back().ended) return;
  if (record.status == to_string(RunStatus::kRunning)) return;
  const auto updated = unix_time(run->updated);
  RunStart& start = record.starts.back();
  if (!updated || *updated < start.views.back().time) return;
  start.ended = std::max(*updated, start.end());
  start.status = record.status;
  start.accounts.push_back(accounts_of(run->time_by_worker.value_or(std::vector<WorkerAccount>()), *updated,
                                       std::max<int64_t>(0, run->global_step)));
}

template <class Part>
void read_part(const YAML::Node& node, Part& part, const std::string& where) {
  if (!node.IsDefined()) return;
  try {
    config::read(node, part, where);
  } catch (const Error&) {
    part = {};  // of another linac
  }
}

void read_job(const std::filesystem::path& path, RunRecord& record) {
  if (!std::filesystem::exists(path)) return;
  const YAML::Node job = config::parse_text(read_file(path), path.string());
  if (!job.IsMap()) return;
  read_part(job["plan"], record.planned, path.string());
  read_part(job["budget"], record.budget, path.string());
  const YAML::Node train = job["train"];
  if (!train.IsDefined() || !train.IsMap()) return;
  record.events_per_step = train["batch"].as<int64_t>(0) * train["replicas"].as<int64_t>(0);
}

// A worker that trains alone has no group to know its name from.
void name_lone_worker(RunStart& start) {
  for (const auto& accounts : start.accounts) {
    for (const RunAccount& account : accounts) {
      RunMember& member = start.views.front().members.front();
      if (member.worker.first.empty()) member.worker = account.worker;
    }
  }
}

// The record says which step a change came after, the log says what happened.
void read_losses(const std::filesystem::path& path, RunRecord& record) {
  static const std::regex kLost(R"(lost rank \d+ \((.*), process (\d{1,18})\): (.*))");
  std::ifstream file(path, std::ios::binary);
  std::string line;
  std::smatch found;
  while (std::getline(file, line)) {
    if (line.find("lost rank ") == std::string::npos || line.size() > 1000) continue;
    if (std::regex_search(line, found, kLost)) record.losses.try_emplace({found[1], std::stoll(found[2])}, found[3]);
  }
}

}  // namespace

double RunStart::end() const {
  if (ended) return *ended;
  double last = views.back().time;
  for (const auto& moment : accounts)
    for (const RunAccount& account : moment) last = std::max(last, account.time);
  return last;
}

RunRecord read_run_record(const std::filesystem::path& folder) {
  if (!std::filesystem::is_directory(folder))
    throw user_error(fmt::format("[report] {}: no such folder; give the folder of a run, the --out of linac train",
                                 folder.string()));
  if (!std::filesystem::exists(folder / kMetricsFile))
    throw user_error(
        fmt::format("[report] {}: no run has left a record here (no metrics.jsonl); give the folder of a "
                    "run that has begun its training",
                    folder.string()));
  RunRecord record;
  record.folder = folder;
  read_metrics(folder / kMetricsFile, record);
  read_run_json(folder / kSummaryFile, record);
  for (RunStart& start : record.starts) name_lone_worker(start);
  read_job(folder / "job.yaml", record);
  read_losses(folder / "log.txt", record);
  record.traced = std::filesystem::exists(folder / kTraceFile);
  if (record.name.empty()) record.name = std::filesystem::absolute(folder).filename().string();
  return record;
}

}  // namespace linac::job
