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
  Clock::time_point began() const { return began_; }
  /// Once it has ended.
  Clock::time_point ended() const { return ended_; }
  /// The most memory that its process has held, GiB, as far as it was looked at; of its workers, if it has some, none.
  double memory_gib() const { return memory_gib_; }
  /// How long its threads have waited for a processor that others had, as a part of the time, likewise.
  double waited(int threads) const;
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
  bool stopped_ = false;
  double memory_gib_ = 0, waited_s_ = 0;
  Clock::time_point looked_;
};

}  // namespace linac::cli
