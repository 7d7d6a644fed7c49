#include "linac/cli/compute/scaling_runs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "linac/base/base/error.h"
#include "linac/base/base/signals.h"
#include "linac/cli/compute/timed_training.h"

namespace linac::cli {
namespace {

using Clock = TimedTraining::Clock;

constexpr std::chrono::milliseconds kLook{2};

TimedTraining start(const ScalingRun& run, int workers, int local_workers, std::filesystem::path folder) {
  std::vector<std::string> settings = run.overrides;
  settings.insert(settings.end(), {fmt::format("train.replicas={}", workers * run.replicas_per_worker),
                                   fmt::format("train.max_steps={}", run.steps), "train.epochs=1000000", "data.test=[]",
                                   "data.validation_split=0", "checkpoint.every_epochs=0", "checkpoint.every_minutes=0",
                                   "checkpoint.best_by=loss", "distribution.balance=false"});
  return TimedTraining({run.job, std::move(settings), workers, local_workers, std::move(folder)});
}

// Steps a second of each, from the moment when all have settled to that when the first one is done.
std::vector<double> steps_per_s(const std::vector<TimedTraining>& trainings, int settle_steps) {
  const auto settled = static_cast<size_t>(settle_steps) - 1;
  Clock::time_point begin = Clock::time_point::min(), end = Clock::time_point::max();
  for (const TimedTraining& one : trainings) {
    LINAC_CHECK(one.steps().size() > settled);
    begin = std::max(begin, one.steps()[settled].time);
    end = std::min(end, one.steps().back().time);
  }
  std::vector<double> rates;
  for (const TimedTraining& one : trainings) {
    std::vector<Clock::time_point> within;
    for (const auto& step : one.steps()) {
      if (step.time >= begin && step.time <= end) within.push_back(step.time);
    }
    if (within.size() < 2)
      throw user_error("[bench] too few steps were finished while all trainings went on; give more --steps");
    const std::chrono::duration<double> seconds = within.back() - within.front();
    rates.push_back(static_cast<double>(within.size() - 1) / seconds.count());
  }
  return rates;
}

ScalingTimes run_all(const ScalingRun& run, std::vector<TimedTraining> trainings, int workers_each) {
  for (bool going_on = true; going_on; std::this_thread::sleep_for(kLook)) {
    if (stop_signal() != 0) throw Error(ErrorCode::kPreempted, "[bench] stopped by a signal; nothing is left behind");
    going_on = false;
    for (TimedTraining& one : trainings) going_on = one.look() || going_on;
  }
  ScalingTimes times;
  for (const double rate : steps_per_s(trainings, run.settle_steps))
    times.replica_steps_per_s += rate * workers_each * run.replicas_per_worker;
  for (const TimedTraining& one : trainings) {
    for (job::WorkerAccount& worker : one.times()) times.workers.push_back(std::move(worker));
  }
  return times;
}

}  // namespace

ScalingTimes train_together(const ScalingRun& run, const std::filesystem::path& folder) {
  std::vector<TimedTraining> trainings;
  trainings.push_back(start(run, run.workers, run.workers, folder));
  return run_all(run, std::move(trainings), run.workers);
}

ScalingTimes train_apart(const ScalingRun& run, const std::filesystem::path& folder) {
  std::vector<TimedTraining> trainings;
  for (int i = 0; i < run.workers; ++i)
    trainings.push_back(start(run, 1, run.workers, fmt::format("{}-{}", folder.string(), i)));
  return run_all(run, std::move(trainings), 1);
}

}  // namespace linac::cli
