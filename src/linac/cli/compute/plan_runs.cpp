#include "linac/cli/compute/plan_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <map>
#include <regex>
#include <variant>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/median.h"
#include "linac/base/job/run_record.h"
#include "linac/cli/compute/probe.h"

namespace linac::cli {
namespace {

namespace fs = std::filesystem;

std::optional<FoundRun> run_in(const fs::path& folder) {
  const fs::path file = folder / "job.yaml";
  std::error_code ignored;
  if (!fs::is_regular_file(file, ignored) || !fs::is_regular_file(folder / job::kMetricsFile, ignored))
    return std::nullopt;
  try {
    job::Job job = job::parse_job(read_file(file), file.string(), {});
    const std::string work = work_digest(job), kin = kin_digest(job);
    return FoundRun{folder, std::move(job), work, kin};
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::optional<report::RunRecord> record_of(const fs::path& folder) {
  try {
    return report::read_run_record(folder);
  } catch (const Error&) {
    return std::nullopt;
  }
}

bool holds(const GoalWish& goal, double value) {
  return goal.at_least ? value >= goal.value : value <= goal.value;
}

// Steps until it was reached for the first time.
std::optional<double> reached_after(const GoalWish& goal, const fs::path& folder) {
  const fs::path path = folder / job::kMetricsFile;
  const job::LineReader lines(path.string(), job::Wanted::kNoStepMeasures);
  std::ifstream file(path);
  for (std::string text; std::getline(file, text);) {
    const job::ReadLine read = lines.read(text);
    const auto* epoch = std::get_if<job::EpochLine>(&read.line);
    if (epoch == nullptr) continue;
    const job::Measures& measures = goal.part == "train"  ? epoch->train
                                    : goal.part == "test" ? epoch->test
                                                          : epoch->physics;
    const auto found = measures.find(goal.measure);
    if (found != measures.end() && holds(goal, found->second)) return static_cast<double>(epoch->global_step);
  }
  return std::nullopt;
}

Error no_measurement(const fs::path& folder, const char* why) {
  return user_error(
      fmt::format("[plan] {}: {}; leave --measured out, and a short training measures it", folder.string(), why));
}

// Of its last start, if all that is counted was measured.
std::optional<double> watts_of(const job::Job& job, const report::RunRecord& record) {
  const std::vector<job::ToldEnergy> told = record.energies.list();
  const auto last = std::ranges::max_element(told, {}, &job::ToldEnergy::from);
  if (last == told.end() || !last->joules.contains("processors") || !(last->seconds > 0)) return std::nullopt;
  if (job.train.device != "cpu" && last->joules.size() < 2) return std::nullopt;
  double joules = 0;
  for (const auto& [meter, one] : last->joules) joules += one;
  return joules / last->seconds;
}

// What its first epoch waited for data beyond a later one.
double first_epoch_s(const report::RunRecord& record) {
  std::vector<double> later;
  for (size_t i = 1; i < record.inputs.size(); ++i) later.push_back(record.inputs[i].waited_s);
  return later.empty() ? 0 : std::max(0.0, record.inputs.front().waited_s - median(std::move(later)));
}

plan::Measured measured_by(const FoundRun& run, const report::RunRecord& record) {
  const auto refuse = [&](const char* why) { return no_measurement(run.folder, why); };
  const auto summary = job::read_summary(read_file(run.folder / job::kSummaryFile), run.folder.string());
  if (!summary || !summary->time_by_worker || summary->time_by_worker->empty())
    throw refuse("its workers' times are not told");
  if (record.epochs < 1) throw refuse("no epoch of it is done");
  if (summary->time_by_worker->size() != 1) throw refuse("it had several workers");
  const job::WorkerAccount& account = summary->time_by_worker->front();
  if (!account.steps || account.steps->steps == 0) throw refuse("the times of its steps are not told");
  const job::StepTime& done = *account.steps;
  const auto steps = static_cast<double>(done.steps), epochs = static_cast<double>(record.epochs);
  const auto seconds_in = [&](job::Phase phase) { return account.time_in(phase).wall_s; };
  plan::Measured found;
  found.job = run.job.name;
  found.work = run.work;
  found.kin = run.kin;
  found.precision = run.job.train.precision;
  found.batch = run.job.train.batch;
  found.when = summary->updated;
  found.device = run.job.train.device;
  found.host = this_host().starts_with(account.host) ? this_host() : account.host;
  found.cores = static_cast<double>(summary->host ? summary->host->cores : 1);
  found.threads = run.job.train.threads;
  const int side_by_side = std::max<int>(1, static_cast<int>(summary->replicas_side_by_side));
  const int waves = (run.job.train.replicas + side_by_side - 1) / side_by_side;
  found.replicas = side_by_side;
  found.replicas_of_job = run.job.train.replicas;
  found.wave_s = seconds_in(job::Phase::kCompute) / steps / waves;
  found.first_s = first_epoch_s(record);
  found.fixed_s = std::max(0.0, (done.wall_s - found.first_s) / steps - waves * found.wave_s);
  found.scatter = job::scatter(done);
  found.steps_seen = done.steps;
  found.step_cpu_s = step_cpu_s(account) / waves;
  found.start_s = {report::actual_of(record).start_s.value_or(0)};
  found.test_s = seconds_in(job::Phase::kTest) / epochs;
  found.between_s = (seconds_in(job::Phase::kCheckpoint) + seconds_in(job::Phase::kReport)) / epochs;
  found.checkpoint_s = seconds_in(job::Phase::kCheckpoint) / epochs;
  found.tests = run.job.data.tests();
  found.watts = watts_of(run.job, record);
  return found;
}

}  // namespace

std::vector<FoundRun> runs_in(const std::vector<std::string>& folders) {
  std::vector<FoundRun> runs;
  for (const std::string& folder : folders) {
    if (!fs::is_directory(folder))
      throw user_error(
          fmt::format("[plan] --runs {}: no such folder; name one that has folders of runs in it", folder));
    if (auto run = run_in(folder)) {
      runs.push_back(std::move(*run));
      continue;
    }
    const fs::path trials = fs::path(folder) / "trials";  // of a study
    std::vector<fs::path> below;
    for (const auto& entry : fs::directory_iterator(fs::is_directory(trials) ? trials : fs::path(folder)))
      below.push_back(entry.path());
    std::sort(below.begin(), below.end());
    for (const fs::path& path : below) {
      if (auto run = run_in(path)) runs.push_back(std::move(*run));
    }
  }
  return runs;
}

RunsBefore runs_before(const std::vector<FoundRun>& runs, const job::Job* job) {
  RunsBefore before;
  const std::string kin = job == nullptr ? "" : kin_digest(*job);
  std::map<int64_t, std::pair<plan::Measured, std::string>> of_batch;  // the newest, with its folder
  for (const FoundRun& run : runs) {
    const auto record = record_of(run.folder);
    if (!record) continue;
    if (run.job.plan.any()) {
      before.planned.push_back({.folder = run.folder.string(),
                                .name = record->name,
                                .on = run.job.plan.on,
                                .status = record->status,
                                .planned = run.job.plan,
                                .actual = report::actual_of(*record)});
    }
    if (job == nullptr || run.kin != kin) continue;
    try {
      plan::Measured measured = measured_by(run, *record);
      auto& newest = of_batch[measured.batch];
      if (measured.host == this_host() && (newest.second.empty() || measured.when > newest.first.when))
        newest = {std::move(measured), run.folder.string()};
    } catch (const Error&) {
      continue;
    }
  }
  std::erase_if(of_batch, [](const auto& one) { return one.second.second.empty(); });
  const auto own = job == nullptr ? of_batch.end() : of_batch.find(job->train.batch);
  if (own == of_batch.end() && of_batch.size() < 2) return before;
  const auto& [measured, folder] = own == of_batch.end() ? of_batch.begin()->second : own->second;
  before.measured = measured;
  before.measured_in = folder;
  for (const auto& [batch, other] : of_batch)
    if (batch != measured.batch)
      before.measured->at_batches.push_back(
          {batch, other.first.wave_s, other.first.fixed_s, other.first.step_cpu_s, other.first.memory_gib});
  return before;
}

plan::Experience experience_of(const std::vector<PlannedRun>& runs, const std::string& place) {
  constexpr size_t kEnough = 3;
  std::vector<PlannedRun> there;
  std::ranges::copy_if(runs, std::back_inserter(there),
                       [&](const PlannedRun& run) { return run.on.starts_with(place + ","); });
  if (!place.empty() && there.size() >= kEnough) return experience_of(there);
  std::vector<plan::Outcome> start, step, whole;
  const auto add = [](std::vector<plan::Outcome>& to, const std::vector<double>& planned,
                      const std::optional<double>& actual) {
    if (planned.size() == 3 && actual) to.push_back({{planned[0], planned[1], planned[2]}, *actual});
  };
  for (const PlannedRun& run : runs) {
    add(start, run.planned.start_s, run.actual.start_s);
    add(step, run.planned.step_s, run.actual.step_s);
    add(whole, run.planned.hours, run.actual.hours);
  }
  return {.start = plan::learn(start), .step = plan::learn(step), .whole = plan::learn(whole)};
}

GoalWish parse_goal(const std::string& text) {
  static const std::regex kGoal(
      R"(\s*(train|test|physics)\s+([A-Za-z0-9_./-]{1,100})\s*(>=|<=|>|<)\s*([-+0-9.eE]{1,30})\s*)");
  std::smatch found;
  GoalWish goal;
  char* end = nullptr;
  if (std::regex_match(text, found, kGoal)) {
    const std::string number = found[4];
    goal = {found[1], found[2], found[3].str().front() == '>', std::strtod(number.c_str(), &end)};
    if (*end == '\0' && std::isfinite(goal.value)) return goal;
  }
  throw user_error(
      fmt::format("[plan] --goal '{}': wanted is a measure of an epoch and its value, e.g. 'test auc >= 0.98'", text));
}

std::optional<plan::Goal> steps_to(const GoalWish& goal, const std::vector<FoundRun>& runs,
                                   const plan::Measured& measured) {
  // One system's runs of CosmoFlow took from -19 to +52 % of the middle one's epochs (MLPerf HPC).
  constexpr double kSpreadOfOne = 0.25;
  std::vector<double> logs;
  int missed = 0;
  for (const FoundRun& run : runs) {
    if (run.work != measured.work || run.job.train.replicas != measured.replicas_of_job) continue;
    const auto steps = reached_after(goal, run.folder);
    if (steps) logs.push_back(std::log(*steps));
    missed += steps ? 0 : 1;
  }
  if (logs.empty()) return std::nullopt;
  double mean = 0, squares = kSpreadOfOne * kSpreadOfOne;
  for (const double one : logs) mean += one / static_cast<double>(logs.size());
  for (const double one : logs) squares += std::pow(one - mean, 2);
  plan::Goal found;
  found.steps = {std::exp(mean), std::sqrt(squares / static_cast<double>(logs.size()))};
  found.remark = fmt::format("{} {} {} {:g}: by the curves of {} run{}{}", goal.part, goal.measure,
                             goal.at_least ? ">=" : "<=", goal.value, logs.size(), logs.size() == 1 ? "" : "s",
                             missed > 0 ? fmt::format("; {} did not reach it", missed) : "");
  return found;
}

plan::Measured measured_by_run(const fs::path& folder) {
  const auto run = run_in(folder);
  if (!run) throw no_measurement(folder, "no run of linac with its record");
  return measured_by(*run, report::read_run_record(folder));
}

}  // namespace linac::cli
