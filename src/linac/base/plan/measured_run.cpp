#include "linac/base/plan/measured_run.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/median.h"
#include "linac/base/job/run_record.h"
#include "linac/base/plan/work.h"

namespace linac::plan {
namespace {

// Of its last start, if all that is counted was measured.
std::optional<double> watts_of(const job::Job& job, const job::RunRecord& record) {
  const std::vector<job::ToldEnergy> told = record.energies.list();
  const auto last = std::ranges::max_element(told, {}, &job::ToldEnergy::from);
  if (last == told.end() || !last->joules.contains("processors") || !(last->seconds > 0)) return std::nullopt;
  if (job.train.device != "cpu" && last->joules.size() < 2) return std::nullopt;
  double joules = 0;
  for (const auto& [meter, one] : last->joules) joules += one;
  return joules / last->seconds;
}

// As an older linac has it, this host's processor stands for that of a worker of its name.
std::string host_of(const job::RunSummary& summary, const job::WorkerAccount& account) {
  if (summary.host && summary.host->processor) return summary.host->name + ", " + *summary.host->processor;
  return is_host(this_host(), account.host) ? this_host() : account.host;
}

void add_outline(const job::RunSummary& summary, const job::Job& job, Measured& found) {
  int64_t per_epoch = summary.epochs_done > 0 ? summary.global_step / summary.epochs_done : 0;
  if (summary.outline) {
    per_epoch = summary.outline->steps_per_epoch;
    found.flop = summary.outline->flop;
    found.updates = updates_of(*summary.outline, found.step_s());
  }
  found.epochs = 1;
  found.steps = std::max<int64_t>(1, per_epoch);
  job::Job whole = job;  // max_steps may cut its last epoch
  whole.train.max_steps = 0;
  fit_to(whole, found.batch, found);
}

// What its first epoch waited for data beyond a later one.
double first_epoch_s(const job::RunRecord& record) {
  std::vector<double> later;
  for (size_t i = 1; i < record.inputs.size(); ++i) later.push_back(record.inputs[i].waited_s);
  return later.empty() ? 0 : std::max(0.0, record.inputs.front().waited_s - median(std::move(later)));
}

// A record may be of another hand: what is no number makes no plan.
bool is_sound(const Measured& found) {
  try {
    read_measured(to_text(found), "");
    return true;
  } catch (const Error&) {
    return false;
  }
}

}  // namespace

MeasuredRun measured_by(const FoundRun& run, const job::RunRecord& record) {
  const auto refuse = [](const char* why) { return MeasuredRun{std::nullopt, why}; };
  const auto path = run.folder / job::kSummaryFile;
  std::error_code ignored;
  const auto summary = std::filesystem::is_regular_file(path, ignored)
                           ? job::read_summary(read_file(path), path.string())
                           : std::nullopt;
  if (!summary || !summary->time_by_worker || summary->time_by_worker->empty())
    return refuse("its workers' times are not told");
  if (record.epochs < 1) return refuse("no epoch of it is done");
  if (summary->time_by_worker->size() != 1) return refuse("it had several workers");
  const job::WorkerAccount& account = summary->time_by_worker->front();
  if (!account.steps || account.steps->steps <= 0) return refuse("the times of its steps are not told");
  const job::StepTime& done = *account.steps;
  const auto steps = static_cast<double>(done.steps), epochs = static_cast<double>(record.epochs);
  const auto seconds_in = [&](job::Phase phase) { return account.time_in(phase).wall_s; };
  MeasuredRun made;
  Measured& found = made.measured.emplace();
  found.job = run.job.name;
  found.work = run.work;
  found.kin = run.kin;
  found.precision = run.job.train.precision;
  found.batch = run.job.train.batch;
  found.when = summary->updated;
  found.device = run.job.train.device;
  found.host = host_of(*summary, account);
  found.cores = static_cast<double>(summary->host ? summary->host->cores : 1);
  found.threads = run.job.train.threads;
  const int side_by_side = static_cast<int>(std::clamp<int64_t>(summary->replicas_side_by_side, 1, 1 << 20));
  const int waves = (run.job.train.replicas + side_by_side - 1) / side_by_side;
  found.replicas = side_by_side;
  found.replicas_of_job = run.job.train.replicas;
  found.wave_s = seconds_in(job::Phase::kCompute) / steps / waves;
  found.first_s = first_epoch_s(record);
  found.fixed_s = std::max(0.0, (done.wall_s - found.first_s) / steps - waves * found.wave_s);
  found.scatter = job::scatter(done);
  found.steps_seen = done.steps;
  found.step_cpu_s = step_cpu_s(account) / waves;
  found.start_s = {job::actual_of(record).start_s.value_or(0)};
  found.test_s = seconds_in(job::Phase::kTest) / epochs;
  found.between_s = (seconds_in(job::Phase::kCheckpoint) + seconds_in(job::Phase::kReport)) / epochs;
  found.checkpoint_s = seconds_in(job::Phase::kCheckpoint) / epochs;
  found.tests = run.job.data.tests();
  found.watts = watts_of(run.job, record);
  add_outline(*summary, run.job, found);
  if (!is_sound(found)) return refuse("its record has figures that cannot be");
  return made;
}

}  // namespace linac::plan
