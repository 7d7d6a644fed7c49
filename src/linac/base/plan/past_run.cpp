#include "linac/base/plan/past_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <map>
#include <regex>
#include <variant>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/job/run_record.h"
#include "linac/base/plan/measured_run.h"
#include "linac/base/plan/work.h"

namespace linac::plan {
namespace {

namespace fs = std::filesystem;

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
    if (found != measures.end() && epoch->global_step > 0 && holds(goal, found->second))
      return static_cast<double>(epoch->global_step);
  }
  return std::nullopt;
}

}  // namespace

std::optional<FoundRun> find_run(const fs::path& folder) {
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

std::optional<PastRun> read_past_run(const FoundRun& run, const std::optional<GoalWish>& goal) {
  PastRun past;
  past.where = run.folder.string();
  past.work = run.work;
  past.kin = run.kin;
  past.replicas = run.job.train.replicas;
  past.planned = run.job.plan;
  try {
    const job::RunRecord record = job::read_run_record(run.folder);
    past.name = record.name;
    past.status = record.status;
    past.actual = job::actual_of(record);
    MeasuredRun measured = measured_by(run, record);
    past.measured = std::move(measured.measured);
    past.why_not = std::move(measured.why_not);
    if (goal) past.reached = reached_after(*goal, run.folder);
  } catch (const Error&) {
    return std::nullopt;
  }
  return past;
}

std::vector<KnownRun> measured_by_runs(const std::vector<PastRun>& runs, const job::Job& job, const std::string& host) {
  const std::string kin = kin_digest(job);
  std::map<std::string, std::map<int64_t, const PastRun*>> newest;  // by host and batch
  for (const PastRun& run : runs) {
    if (!run.measured || run.kin != kin) continue;
    if (!host.empty() && !is_host(run.measured->host, host)) continue;
    const PastRun*& one = newest[run.measured->host][run.measured->batch];
    if (one == nullptr || run.measured->when > one->measured->when) one = &run;
  }
  std::vector<KnownRun> found;
  for (const auto& [there, of_batch] : newest) {
    const auto own = of_batch.find(job.train.batch);
    if (own == of_batch.end() && of_batch.size() < 2) continue;
    const PastRun& run = own == of_batch.end() ? *of_batch.begin()->second : *own->second;
    KnownRun& known = found.emplace_back(KnownRun{*run.measured, run.where, run.name});
    for (const auto& [batch, other] : of_batch)
      if (batch != known.measured.batch)
        known.measured.at_batches.push_back({batch, other->measured->wave_s, other->measured->fixed_s,
                                             other->measured->step_cpu_s, other->measured->memory_gib});
  }
  std::ranges::stable_sort(found, std::ranges::greater(), [](const KnownRun& one) { return one.measured.when; });
  return found;
}

Experience experience_of(const std::vector<PastRun>& runs, const std::string& place) {
  constexpr size_t kEnough = 3;
  const auto planned_there = [&](const PastRun& run) {
    return run.planned.any() && (place.empty() || run.planned.on.starts_with(place + ","));
  };
  if (!place.empty() && static_cast<size_t>(std::ranges::count_if(runs, planned_there)) < kEnough)
    return experience_of(runs);
  std::vector<Outcome> start, step, whole;
  const auto add = [](std::vector<Outcome>& to, const std::vector<double>& planned,
                      const std::optional<double>& actual) {
    if (planned.size() == 3 && actual) to.push_back({{planned[0], planned[1], planned[2]}, *actual});
  };
  for (const PastRun& run : runs) {
    if (!planned_there(run)) continue;
    add(start, run.planned.start_s, run.actual.start_s);
    add(step, run.planned.step_s, run.actual.step_s);
    add(whole, run.planned.hours, run.actual.hours);
  }
  return {.start = learn(start), .step = learn(step), .whole = learn(whole)};
}

GoalWish parse_goal(const std::string& text) {
  static const std::regex kGoal(
      R"(\s*(train|test|physics)\s+([A-Za-z0-9_./-]{1,100})\s*(>=|<=|>|<)\s*([-+0-9.eE]{1,30})\s*)");
  constexpr size_t kBytesMax = 200;
  std::smatch found;
  GoalWish goal;
  char* end = nullptr;
  if (text.size() <= kBytesMax && std::regex_match(text, found, kGoal)) {
    const std::string number = found[4];
    goal = {found[1], found[2], found[3].str().front() == '>', std::strtod(number.c_str(), &end)};
    if (*end == '\0' && std::isfinite(goal.value)) return goal;
  }
  throw user_error(
      fmt::format("[plan] --goal '{}': wanted is a measure of an epoch and its value, e.g. 'test auc >= 0.98'",
                  text.substr(0, kBytesMax)));
}

Goal all_steps(const Measured& measured) {
  return {.steps = {static_cast<double>(measured.steps), 0},
          .remark = fmt::format("all {} steps of the job, {} epochs", measured.steps, measured.epochs)};
}

std::string not_reached(const std::string& goal, const std::string& looked_in) {
  return fmt::format(
      "how many steps '{}' takes is not known: no run of this job in {} has reached it; the plan is for all steps of "
      "the job",
      goal, looked_in);
}

std::optional<Goal> steps_to(const GoalWish& goal, const std::vector<PastRun>& runs, const Measured& measured) {
  // One system's runs of CosmoFlow took from -19 to +52 % of the middle one's epochs (MLPerf HPC).
  constexpr double kSpreadOfOne = 0.25;
  std::vector<double> logs;
  int missed = 0;
  for (const PastRun& run : runs) {
    if (run.work != measured.work || run.replicas != measured.replicas_of_job) continue;
    if (run.reached) logs.push_back(std::log(*run.reached));
    missed += run.reached ? 0 : 1;
  }
  if (logs.empty()) return std::nullopt;
  double mean = 0, squares = kSpreadOfOne * kSpreadOfOne;
  for (const double one : logs) mean += one / static_cast<double>(logs.size());
  for (const double one : logs) squares += std::pow(one - mean, 2);
  Goal found;
  found.steps = {std::exp(mean), std::sqrt(squares / static_cast<double>(logs.size()))};
  found.remark = fmt::format("{} {} {} {:g}: by the curves of {} run{}{}", goal.part, goal.measure,
                             goal.at_least ? ">=" : "<=", goal.value, logs.size(), logs.size() == 1 ? "" : "s",
                             missed > 0 ? fmt::format("; {} did not reach it", missed) : "");
  return found;
}

}  // namespace linac::plan
