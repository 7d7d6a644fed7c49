#pragma once
// A cluster with a queue of its own, for tests: jobs wait in it, with a reason, until the test starts them on a host,
// lets them print and use something, ends or loses them. Cluster is thread-safe and outlives its launchers;
// ClusterLauncher is how a scheduler reaches it, and says nothing of processes, folders or locks.

#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/control/launch/launcher.h"

namespace linac::execution {

class Cluster {
 public:
  struct Job {
    launch::Command command;
    launch::Demand demand;
    launch::AttemptStatus status;
    launch::AttemptUse use;
    std::string output;
    int submissions = 0, cancellations = 0;
  };

  // What the test does.
  void start(const std::string& label, const std::string& host, int64_t now_ms) {
    change(label, [&](Job& job) {
      job.status.state = launch::AttemptState::kRunning;
      job.status.reason.clear();
      job.status.hosts = {host};
      job.status.started_ms = now_ms;
    });
  }
  void hold(const std::string& label, const std::string& reason) {
    change(label, [&](Job& job) { job.status.reason = reason; });
  }
  void print(const std::string& label, const std::string& text) {
    change(label, [&](Job& job) { job.output += text; });
  }
  void use(const std::string& label, const launch::AttemptUse& use) {
    change(label, [&](Job& job) { job.use = use; });
  }
  void end(const std::string& label, int status, double seconds) {
    change(label, [&](Job& job) {
      job.status.state = launch::AttemptState::kEnded;
      job.status.exit = exit_of(status, seconds);
    });
  }
  void lose(const std::string& label, const std::string& reason) {
    change(label, [&](Job& job) {
      job.status.state = launch::AttemptState::kLost;
      job.status.reason = reason;
    });
  }
  void queue_again(const std::string& label) {
    change(label, [](Job& job) {
      job.status = {};
      job.status.state = launch::AttemptState::kQueued;
    });
  }
  /// While it is not reachable, every call fails.
  void reachable(bool reachable) {
    const std::lock_guard lock(mutex_);
    reachable_ = reachable;
  }
  /// The next submission is taken, and whoever submits is told that it was not.
  void lose_next_answer() {
    const std::lock_guard lock(mutex_);
    lose_next_answer_ = true;
  }

  // What the test looks at.
  std::optional<Job> job(const std::string& label) const {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(label);
    return found == jobs_.end() ? std::nullopt : std::optional(found->second);
  }
  size_t size() const {
    const std::lock_guard lock(mutex_);
    return jobs_.size();
  }

 private:
  friend class ClusterLauncher;

  static launch::Exit exit_of(int status, double seconds) {
    launch::Exit exit;
    exit.status = status;
    exit.seconds = seconds;
    return exit;
  }

  void change(const std::string& label, const std::function<void(Job&)>& f) {
    const std::lock_guard lock(mutex_);
    f(jobs_.at(label));
  }
  /// Holds the lock while somebody outside of the test looks.
  std::unique_lock<std::mutex> asked() {
    std::unique_lock lock(mutex_);
    if (!reachable_) throw environment_error("[cluster] it does not answer");
    return lock;
  }

  mutable std::mutex mutex_;
  std::map<std::string, Job> jobs_;
  bool reachable_ = true, lose_next_answer_ = false;
};

class ClusterLauncher : public launch::Launcher {
 public:
  explicit ClusterLauncher(Cluster& cluster) : cluster_(cluster) {}

  launch::Capacity capacity() override { return {{128, 1 << 20, 8}, {128, 1 << 20, 8}}; }
  std::string why_not_as(const std::string&) override { return ""; }

  void prepare(const launch::AttemptKey& attempt, const launch::Demand& demand) override {
    demands_[attempt.label] = demand;
  }

  void start(const launch::AttemptKey& attempt, const launch::Command& command) override {
    const auto lock = cluster_.asked();
    Cluster::Job& job = cluster_.jobs_[attempt.label];
    if (++job.submissions > 1) return;
    job.command = command;
    job.demand = demands_.at(attempt.label);
    job.status.state = launch::AttemptState::kQueued;
    job.status.reason = "Priority";
    if (std::exchange(cluster_.lose_next_answer_, false))
      throw environment_error("[cluster] it did not answer the submission");
  }

  launch::AttemptStatus status(const launch::AttemptKey& attempt) override {
    const auto lock = cluster_.asked();
    const auto found = cluster_.jobs_.find(attempt.label);
    return found == cluster_.jobs_.end() ? launch::AttemptStatus{} : found->second.status;
  }

  launch::AttemptUse use(const launch::AttemptKey& attempt) override {
    const auto lock = cluster_.asked();
    return cluster_.jobs_.at(attempt.label).use;
  }

  std::optional<std::string> output(const launch::AttemptKey& attempt, int64_t from, size_t bytes_max) override {
    const auto lock = cluster_.asked();
    const std::string& output = cluster_.jobs_.at(attempt.label).output;
    // A few bytes at a time, as if the way were narrow.
    return output.substr(std::min(output.size(), static_cast<size_t>(from)), std::min<size_t>(bytes_max, 7));
  }

  void cancel(const launch::AttemptKey& attempt) override {
    const auto lock = cluster_.asked();
    const auto found = cluster_.jobs_.find(attempt.label);
    if (found == cluster_.jobs_.end()) return;
    Cluster::Job& job = found->second;
    ++job.cancellations;
    const bool ran = job.status.state == launch::AttemptState::kRunning;
    if (!ran && job.status.state != launch::AttemptState::kQueued) return;
    job.status.state = launch::AttemptState::kEnded;
    job.status.reason = "cancelled";
    if (ran) job.status.exit = Cluster::exit_of(75, 1);
  }

  void release(const launch::AttemptKey& attempt) override { demands_.erase(attempt.label); }

  std::vector<std::string> labels() override {
    const auto lock = cluster_.asked();
    std::vector<std::string> labels;
    for (const auto& [label, job] : cluster_.jobs_)
      if (job.status.state == launch::AttemptState::kQueued || job.status.state == launch::AttemptState::kRunning)
        labels.push_back(label);
    return labels;
  }

 private:
  Cluster& cluster_;
  std::map<std::string, launch::Demand> demands_;
};

}  // namespace linac::execution
