#include "linac/physics/report/run/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>
#include <set>

#include "linac/base/base/error.h"
#include "linac/base/base/median.h"
#include "linac/base/job/audit_words.h"
#include "linac/base/job/step_gaps.h"
#include "linac/physics/report/run/words.h"
#include "linac/physics/report/run/workers.h"

namespace linac::report {
namespace {

Pauses pauses_of(const std::vector<RunChange>& changes, bool losses_only) {
  std::vector<double> seconds;
  for (const RunChange& change : changes)
    if (!losses_only || !change.lost.empty()) seconds.push_back(change.seconds);
  if (seconds.empty()) return {};
  return {.number = static_cast<int64_t>(seconds.size()),
          .sum = std::accumulate(seconds.begin(), seconds.end(), 0.0),
          .median = linac::median(seconds),
          .longest = *std::max_element(seconds.begin(), seconds.end())};
}

// What the change to view `next` was.
RunChange change_of(const RunRecord& record, size_t start, const RunView& last, const RunView& next) {
  const auto holds = [](const RunView& view, const WorkerKey& key) {
    return std::any_of(view.members.begin(), view.members.end(), [&](const auto& m) { return m.worker == key; });
  };
  RunChange change{.start = start,
                   .time = next.time,
                   .seconds = next.seconds,
                   .global_step = next.global_step,
                   .workers = static_cast<int>(next.members.size()),
                   .lost = {},
                   .joined = {},
                   .reasons = {}};
  for (const RunMember& member : last.members) {
    if (holds(next, member.worker)) continue;
    change.lost.push_back(member.worker);
    change.reasons.push_back(reason_of(record, member.worker, next.why));
  }
  for (const RunMember& member : next.members)
    if (!holds(last, member.worker)) change.joined.push_back(member.worker);
  return change;
}

void add_starts(RunReport& report) {
  const RunRecord& record = report.record;
  for (size_t i = 0; i < record.starts.size(); ++i) {
    const RunStart& start = record.starts[i];
    report.wall_s += std::max(0.0, start.end() - start.begin());
    report.starting_s += start.views.front().seconds * static_cast<double>(start.views.front().members.size());
    for (size_t v = 1; v < start.views.size(); ++v) {
      report.changes.push_back(change_of(record, i, start.views[v - 1], start.views[v]));
      report.changing_s += start.views[v].seconds * static_cast<double>(start.views[v].members.size());
    }
    if (i > 0) report.steps_redone += std::max<int64_t>(0, record.starts[i - 1].last_step - start.views[0].global_step);
    for (RunWorker& worker : workers_of(record, i)) report.workers.push_back(std::move(worker));
  }
}

void add_communication(RunReport& report) {
  double bytes = 0, steps = 0, exchange = 0, exposed = 0;
  for (const RunWorker& worker : report.workers) {
    bytes += static_cast<double>(worker.sent_bytes);
    steps += static_cast<double>(worker.steps);
    exchange += worker.exchange_s;
    exposed += worker.time.phases[static_cast<size_t>(job::Phase::kCommunication)];
  }
  if (report.workers.size() < 2) return;  // nobody to talk to
  if (steps > 0) report.sent_per_step = bytes / steps;
  if (exchange > 0) report.hidden_fraction = std::clamp(1 - exposed / exchange, 0.0, 1.0);
}

void add_reading(RunReport& report) {
  for (const RunWorker& worker : report.workers)
    if (worker.reading) report.reading = report.reading.value_or(job::ToldReading()) += *worker.reading;
}

void add_input(RunReport& report) {
  const std::vector<EpochInput>& inputs = report.record.inputs;
  if (inputs.empty()) return;
  InputWaits& found = report.input.emplace();
  found.opened_s = inputs.front().opened_s;
  found.first_s = found.opened_s + inputs.front().waited_s;
  std::vector<double> later;
  for (size_t i = 1; i < inputs.size(); ++i) later.push_back(inputs[i].opened_s + inputs[i].waited_s);
  if (!later.empty()) found.later_s = linac::median(std::move(later));
}

void add_cost(RunReport& report, const HostPrices& prices) {
  constexpr double kHour = 3600;
  std::set<std::string> unpriced;
  Cost cost;
  for (RunWorker& worker : report.workers) {
    const auto found = prices.by_host.find(worker.key.first);
    if (found == prices.by_host.end() && !prices.otherwise) unpriced.insert(worker.key.first);
    worker.price = found != prices.by_host.end() ? found->second : prices.otherwise.value_or(0);
    cost.total += worker.time.seconds / kHour * worker.price;
    cost.not_computing += (worker.time.seconds - worker.time.computing()) / kHour * worker.price;
  }
  if (!unpriced.empty())
    throw user_error(
        fmt::format("[report] no price for host {}; add it to --prices, or a `default`", fmt::join(unpriced, ", ")));
  const RunRecord& record = report.record;
  if (record.epochs > 0) cost.per_epoch = cost.total / static_cast<double>(record.epochs);
  const auto events = static_cast<double>(record.steps * record.events_per_step);
  if (events > 0) cost.per_1000_events = cost.total / events * 1000;
  report.cost = cost;
}

// By the price in its job, which `linac plan --write` has put there beside the plan; of a run that came to its end.
std::optional<double> money_of(const RunReport& report) {
  if (report.record.budget.price <= 0 || !report.actual.hours) return std::nullopt;
  return report.time.seconds / 3600 * report.record.budget.price;
}

void add_remarks(RunReport& report) {
  const RunRecord& record = report.record;
  const auto say = [&](std::string text) { report.remarks.push_back(std::move(text)); };
  if (record.starts.empty()) {
    say("The record holds nothing about workers: the run had not begun its first step, or was made by an earlier "
        "version of linac.");
  } else if (!record.starts.back().ended) {
    say("The run goes on, or was killed: the figures reach up to the last account in its record.");
  }
  for (size_t i = 0; i + 1 < record.starts.size(); ++i)
    if (!record.starts[i].ended)
      say(fmt::format("Start {} was killed: what happened after its last account is not in the figures.", i + 1));
  if (report.time.unknown > 0.01 * report.time.seconds)
    say(
        fmt::format("Of {} of the workers' time nothing is known: it lies after their last accounts. If "
                    "all of that was computing, the efficiency is {}.",
                    percent(report.time.unknown / report.time.seconds), percent(report.time.efficiency_max())));
  for (const RunWorker& worker : report.workers)
    if (worker.slow())
      say(fmt::format("Worker {} was slow: {:.2f} times the median pace.", worker_name(report, worker.key),
                      worker.slowness));
  for (const job::AuditLine& audit : record.audits)
    say(fmt::format("Audit after step {}: {}; {}.", audit.global_step, job::in_words(audit),
                    job::clean_in_words(audit)));
  if (record.steps_twice > 0)
    say(fmt::format("The record is wrong: {} in it twice.",
                    record.steps_twice == 1 ? "a step is" : fmt::format("{} steps are", record.steps_twice)));
  if (record.steps_missing > 0)
    say(fmt::format("The record has a gap: the lines of {} are lost.", job::in_words(record.gaps)));
  if (record.damaged_lines > 0)
    say(fmt::format("{} damaged line{} of metrics.jsonl or run.json could not be read.", record.damaged_lines,
                    record.damaged_lines == 1 ? "" : "s"));
  if (record.last_line_cut)
    say("The last line of metrics.jsonl is cut off, as a kill or a run that goes on leaves it.");
}

}  // namespace

double TimeSplit::computing() const {
  double sum = 0;
  for (size_t i = 0; i < phases.size(); ++i)
    if (job::kPhases[i].computes) sum += phases[i];
  return sum;
}

double TimeSplit::efficiency() const {
  return seconds > 0 ? computing() / seconds : std::numeric_limits<double>::quiet_NaN();
}

double TimeSplit::efficiency_max() const {
  return seconds > 0 ? (computing() + unknown) / seconds : std::numeric_limits<double>::quiet_NaN();
}

TimeSplit& TimeSplit::operator+=(const TimeSplit& other) {
  seconds += other.seconds;
  waiting += other.waiting;
  unknown += other.unknown;
  for (size_t i = 0; i < phases.size(); ++i) phases[i] += other.phases[i];
  return *this;
}

RunReport make_run_report(RunRecord record, const std::optional<HostPrices>& prices) {
  RunReport report;
  report.title = "Run " + record.name;
  report.record = std::move(record);
  add_starts(report);
  for (const RunWorker& worker : report.workers) {
    report.time += worker.time;
    report.step_time += worker.step_time;
  }
  report.all_changes = pauses_of(report.changes, false);
  report.losses = pauses_of(report.changes, true);
  add_communication(report);
  add_input(report);
  add_reading(report);
  if (prices) add_cost(report, *prices);
  report.energy = energy_of(report.record);
  report.actual = actual_of(report.record);
  report.planned = beside_plan(report.record.planned, report.actual, money_of(report));
  add_remarks(report);
  return report;
}

std::optional<double> first_to_later(const InputWaits& input) {
  if (!input.later_s || !(*input.later_s > 0)) return std::nullopt;
  return input.first_s / *input.later_s;
}

std::string worker_name(const RunReport& report, const WorkerKey& key) {
  const bool one_host = std::all_of(report.workers.begin(), report.workers.end(),
                                    [&](const RunWorker& worker) { return worker.key.first == key.first; });
  return one_host ? fmt::format("{}", key.second) : fmt::format("{} {}", key.first, key.second);
}

}  // namespace linac::report
