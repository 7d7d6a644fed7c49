#include "linac/cli/compute/scaling_runs.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <fstream>
#include <optional>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/signals.h"
#include "linac/train/workers/worker_process.h"

namespace linac::cli {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kLook{2};
constexpr size_t kShownBytes = 2000;

// A `linac train` and when it finished its steps. Killed if it still runs when this ends.
class Training {
 public:
  Training(const ScalingRun& run, int workers, int local_workers, std::filesystem::path folder)
      : folder_(std::move(folder)) {
    std::vector<std::string> settings = run.overrides;
    settings.insert(settings.end(),
                    {fmt::format("train.replicas={}", workers * run.replicas_per_worker),
                     fmt::format("train.max_steps={}", run.steps), "train.epochs=1000000", "data.test=[]",
                     "data.validation_split=0", "checkpoint.every_epochs=0", "checkpoint.every_minutes=0",
                     "checkpoint.best_by=loss", "distribution.balance=false"});
    launch::WorkerCommand command;
    command.program = "/proc/self/exe";
    command.argv = {"linac", "train", run.job, "--out", folder_.string(), "--workers", std::to_string(workers)};
    for (const std::string& setting : settings) command.argv.insert(command.argv.end(), {"--set", setting});
    // A lone worker takes as many cores as it would have beside the others.
    command.environment = {{"LOCAL_WORLD_SIZE", std::to_string(local_workers)}};
    command.output = launch::Output::kCapture;
    child_ = launch::start_worker_process(command);
  }
  ~Training() {
    if (!child_.child.runs()) return;
    child_.child.send(SIGTERM);
    child_.child.wait();
  }
  Training(Training&&) = default;
  Training& operator=(Training&&) = delete;

  // False once it has ended. Error if it has failed.
  bool look() {
    take_output();
    count_steps();
    if (!child_.child.runs()) return false;
    const auto end = child_.child.ended();
    if (!end) return true;
    take_output();
    count_steps();
    if (!end->well()) {
      const size_t from = output_.size() - std::min(output_.size(), kShownBytes);
      throw environment_error(fmt::format("[bench] the training in {} failed; its last words:\n{}", folder_.string(),
                                          output_.substr(from)));
    }
    return false;
  }
  const std::vector<Clock::time_point>& steps() const { return steps_; }
  std::vector<job::WorkerAccount> times() const {
    const auto file = folder_ / job::kSummaryFile;
    const auto run = job::read_summary(read_file(file), file.string());
    LINAC_CHECK(run && run->time_by_worker);  // it has ended well
    return *run->time_by_worker;
  }

 private:
  void take_output() {
    char part[4096];
    for (ssize_t size; (size = read(child_.output.get(), part, sizeof part)) > 0;)
      output_.append(part, static_cast<size_t>(size));
  }

  void count_steps() {
    const auto path = folder_ / job::kMetricsFile;
    const job::LineReader reader(path.string(), job::Wanted::kNoStepMeasures);
    std::ifstream file(path);
    file.seekg(seen_);
    for (std::string line; std::getline(file, line) && !file.eof();) {  // one without its end is still being written
      seen_ = file.tellg();
      if (std::holds_alternative<job::StepLine>(reader.read(line).line)) steps_.push_back(Clock::now());
    }
  }

  std::filesystem::path folder_;
  launch::WorkerProcess child_;
  std::string output_;
  std::streamoff seen_ = 0;
  std::vector<Clock::time_point> steps_;
};

// Steps a second of each, from the moment when all have settled to that when the first one is done.
std::vector<double> steps_per_s(const std::vector<Training>& trainings, int settle_steps) {
  const auto settled = static_cast<size_t>(settle_steps) - 1;
  Clock::time_point begin = Clock::time_point::min(), end = Clock::time_point::max();
  for (const Training& one : trainings) {
    LINAC_CHECK(one.steps().size() > settled);
    begin = std::max(begin, one.steps()[settled]);
    end = std::min(end, one.steps().back());
  }
  std::vector<double> rates;
  for (const Training& one : trainings) {
    std::vector<Clock::time_point> within;
    std::copy_if(one.steps().begin(), one.steps().end(), std::back_inserter(within),
                 [&](const auto& time) { return time >= begin && time <= end; });
    if (within.size() < 2)
      throw user_error("[bench] too few steps were finished while all trainings went on; give more --steps");
    const std::chrono::duration<double> seconds = within.back() - within.front();
    rates.push_back(static_cast<double>(within.size() - 1) / seconds.count());
  }
  return rates;
}

ScalingTimes run_all(const ScalingRun& run, std::vector<Training> trainings, int workers_each) {
  for (bool going_on = true; going_on; std::this_thread::sleep_for(kLook)) {
    if (stop_signal() != 0) throw Error(ErrorCode::kPreempted, "[bench] stopped by a signal; nothing is left behind");
    going_on = false;
    for (Training& one : trainings) going_on = one.look() || going_on;
  }
  ScalingTimes times;
  for (const double rate : steps_per_s(trainings, run.settle_steps))
    times.replica_steps_per_s += rate * workers_each * run.replicas_per_worker;
  for (const Training& one : trainings) {
    for (job::WorkerAccount& worker : one.times()) times.workers.push_back(std::move(worker));
  }
  return times;
}

}  // namespace

ScalingTimes train_together(const ScalingRun& run, const std::filesystem::path& folder) {
  std::vector<Training> trainings;
  trainings.emplace_back(run, run.workers, run.workers, folder);
  return run_all(run, std::move(trainings), run.workers);
}

ScalingTimes train_apart(const ScalingRun& run, const std::filesystem::path& folder) {
  std::vector<Training> trainings;
  for (int i = 0; i < run.workers; ++i)
    trainings.emplace_back(run, 1, run.workers, std::filesystem::path(fmt::format("{}-{}", folder.string(), i)));
  return run_all(run, std::move(trainings), 1);
}

}  // namespace linac::cli
