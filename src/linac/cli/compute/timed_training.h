#pragma once
// A `linac train` as a child process, timed from outside by the lines of its metrics.jsonl. From the main thread only.

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "linac/base/job/run_record.h"
#include "linac/train/workers/worker_process.h"

namespace linac::cli {

/// Killed if it still runs when this ends.
class TimedTraining {
 public:
  using Clock = std::chrono::steady_clock;
  struct Settings {
    std::string job;
    std::vector<std::string> overrides;  // as of --set
    int workers = 1;
    int local_workers = 1;  // a lone worker takes as many cores as it would have beside the others
    std::filesystem::path folder;
  };
  /// Of a step: when its line was there, and in which epoch.
  struct Step {
    Clock::time_point time;
    int64_t epoch = 0;
  };

  explicit TimedTraining(const Settings& settings);
  ~TimedTraining();
  TimedTraining(TimedTraining&&) = default;
  TimedTraining& operator=(TimedTraining&&) = delete;

  /// False once it has ended. Environment error if it has failed.
  bool look();
  /// It writes a checkpoint and ends: that is no failure then.
  void stop();
  const std::vector<Step>& steps() const { return steps_; }
  /// Those that are done, their test as well.
  int64_t epochs() const { return epochs_; }
  Clock::time_point began() const { return began_; }
  /// Once it has ended.
  Clock::time_point ended() const { return ended_; }
  /// The most memory that its process has held, GiB, as far as it was looked at; of its workers, if it has some, none.
  double memory_gib() const { return memory_gib_; }
  /// What others have had of the time of `wanted` processors meanwhile, where there are not enough for all: 0 to 1.
  double taken(int wanted) const;
  /// Of all its workers. Once it has ended.
  std::vector<job::WorkerAccount> times() const;

 private:
  void take_output();
  void count_steps();
  void look_at_process();

  std::filesystem::path folder_;
  Clock::time_point began_, ended_;
  launch::WorkerProcess child_;
  std::string output_;
  std::streamoff seen_ = 0;
  std::vector<Step> steps_;
  int64_t epochs_ = 0;
  bool stopped_ = false;
  double memory_gib_ = 0;
  Clock::time_point looked_;
  struct Processors {
    double now_s = 0, busy_s = 0, own_s = 0;  // busy: for anybody
  };
  std::optional<Processors> first_, last_;
};

}  // namespace linac::cli
