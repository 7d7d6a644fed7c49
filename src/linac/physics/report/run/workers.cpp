#include "linac/physics/report/run/workers.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "linac/base/base/median.h"

namespace linac::report {
namespace {

RunWorker& worker_of(std::vector<RunWorker>& workers, const WorkerKey& key, size_t start) {
  const auto found = std::find_if(workers.begin(), workers.end(), [&](const auto& w) { return w.key == key; });
  if (found != workers.end()) return *found;
  RunWorker& worker = workers.emplace_back();
  worker.key = key;
  worker.start = start;
  return worker;
}

// A change belongs to the workers that were there before: who is lost leaves when it begins, who joins comes then.
void add_spans(const RunRecord& record, size_t index, std::vector<RunWorker>& workers) {
  const RunStart& start = record.starts[index];
  for (size_t v = 0; v < start.views.size(); ++v) {
    const RunView& view = start.views[v];
    const double begin = view.begin();
    const double end = v + 1 < start.views.size() ? start.views[v + 1].begin() : start.end();
    for (const RunMember& member : view.members)
      worker_of(workers, member.worker, index).spans.push_back({begin, std::max(begin, end), member.replicas});
  }
  // A worker that was halted may have come back: the last view tells who stayed.
  const auto& last = start.views.back().members;
  for (RunWorker& worker : workers) {
    if (std::any_of(last.begin(), last.end(), [&](const auto& m) { return m.worker == worker.key; })) continue;
    worker.departure = Departure::kLost;
    for (size_t v = 1; v < start.views.size(); ++v)
      if (start.views[v].begin() <= worker.left()) worker.reason = reason_of(record, worker.key, start.views[v].why);
  }
}

int64_t steps_until(const RunStart& start, const WorkerKey& key, int64_t global_step) {
  int64_t steps = 0;
  for (size_t v = 0; v < start.views.size(); ++v) {
    const RunView& view = start.views[v];
    const bool member =
        std::any_of(view.members.begin(), view.members.end(), [&](const auto& m) { return m.worker == key; });
    const int64_t next = v + 1 < start.views.size() ? start.views[v + 1].global_step : global_step;
    if (member) steps += std::max<int64_t>(0, std::min(next, global_step) - view.global_step);
  }
  return steps;
}

void add_account(const RunStart& start, const RunAccount& account, RunWorker& worker) {
  worker.accounted = true;
  worker.time.phases = account.wall;
  worker.step_time = account.step_time;
  worker.steps = steps_until(start, worker.key, account.global_step);
  worker.sent_bytes = account.sent_bytes;
  worker.reading = account.reading;
  worker.exchange_s = account.exchange_s;
  // An account may come later than its worker's loss: what was heard last.
  const double known = std::max(0.0, std::min(account.time, worker.left()) - worker.entered());
  worker.time.waiting = std::max(0.0, known - std::accumulate(account.wall.begin(), account.wall.end(), 0.0));
}

void add_accounts(const RunStart& start, std::vector<RunWorker>& workers) {
  std::map<WorkerKey, std::vector<double>> paces, ratios;
  for (const auto& moment : start.accounts) {
    std::vector<double> all;
    for (const RunAccount& account : moment)
      if (account.pace_s > 0) all.push_back(account.pace_s);
    const double median = linac::median(all);
    for (const RunAccount& account : moment) {
      const auto worker =
          std::find_if(workers.begin(), workers.end(), [&](const auto& w) { return w.key == account.worker; });
      if (worker == workers.end()) continue;
      add_account(start, account, *worker);
      if (account.pace_s > 0) paces[account.worker].push_back(account.pace_s);
      if (account.pace_s > 0 && all.size() > 1) ratios[account.worker].push_back(account.pace_s / median);
    }
  }
  for (RunWorker& worker : workers) {
    worker.pace_s = linac::median(paces[worker.key]);
    if (!ratios[worker.key].empty()) worker.slowness = linac::median(ratios[worker.key]);
  }
}

void close(RunWorker& worker) {
  TimeSplit& time = worker.time;
  time.seconds = std::max(0.0, worker.left() - worker.entered());  // hosts may disagree on the time
  // Of a newcomer the phases may reach back to before its entry.
  const double phases = std::accumulate(time.phases.begin(), time.phases.end(), 0.0);
  if (phases > time.seconds && phases > 0)
    for (double& seconds : time.phases) seconds *= time.seconds / phases;
  time.unknown = std::max(0.0, time.seconds - std::min(phases, time.seconds) - time.waiting);
  double weight = 0;
  for (const RunSpan& span : worker.spans) {
    worker.replicas += (span.end - span.begin) * span.replicas;
    weight += span.end - span.begin;
  }
  worker.replicas = weight > 0 ? worker.replicas / weight : worker.spans.back().replicas;
}

}  // namespace

std::vector<RunWorker> workers_of(const RunRecord& record, size_t start) {
  std::vector<RunWorker> workers;
  add_spans(record, start, workers);
  add_accounts(record.starts[start], workers);
  for (RunWorker& worker : workers) close(worker);
  return workers;
}

std::string reason_of(const RunRecord& record, const WorkerKey& worker, const std::string& why) {
  const auto found = record.losses.find(worker);
  return found != record.losses.end() ? found->second : why;
}

}  // namespace linac::report
