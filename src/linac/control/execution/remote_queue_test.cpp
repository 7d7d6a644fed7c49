// The queue carried out by a system with a queue of its own (test_cluster.h): hours pass by a clock of the test.

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <atomic>
#include <functional>
#include <mutex>
#include <nlohmann/json.hpp>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/host_marks.h"
#include "linac/control/execution/record/run_places.h"
#include "linac/control/execution/scheduler.h"
#include "linac/control/execution/test_cluster.h"

namespace linac::execution {
namespace {

using namespace std::chrono_literals;
using catalog::RunState;
using launch::AttemptState;

constexpr int64_t kHour_ms = 3600 * 1000;

/// Keeps what it is told of logs and states.
class KeptNews : public News {
 public:
  void publish(const std::string&, std::string_view event, const nlohmann::json& data) override {
    const std::lock_guard lock(mutex_);
    if (event == "log") log_ += data.at("text").get<std::string>();
    if (event == "state") states_.push_back(data.at("reason"));
  }
  void publish_points(const std::string&, std::span<const catalog::KeyedPoint>) override {}

  std::string log() const {
    const std::lock_guard lock(mutex_);
    return log_;
  }
  bool told(const std::string& reason) const {
    const std::lock_guard lock(mutex_);
    return std::find(states_.begin(), states_.end(), reason) != states_.end();
  }

 private:
  mutable std::mutex mutex_;
  std::string log_;
  std::vector<std::string> states_;
};

class RemoteQueue : public testing::Test {
 protected:
  RemoteQueue() {
    make_folder(folder_ / "data");
    start();
  }

  void start() {
    AttemptSettings settings;
    settings.command = [](const std::string& job, const std::string& outputs) {
      return std::vector<std::string>{"train", job, outputs};
    };
    settings.account = [](catalog::Database&, const std::string&) { return ""; };
    settings.clock = [this] { return clock_ms_.load(); };
    settings.is_admin = [](catalog::Database&, const std::string& user) { return user == "admin"; };
    scheduler_ = std::make_unique<Scheduler>(host_, settings, std::make_unique<ClusterLauncher>(cluster_));
  }

  std::string submit(const catalog::Wishes& wishes = {}, const std::string& user = "alice") {
    catalog::NewRun run;
    run.user = user;
    const std::string id = catalog_.write(
        [&](catalog::Database& database) { return catalog::submit(database, run, "a job", wishes, ""); });
    scheduler_->wake();
    return id;
  }
  catalog::Run run(const std::string& id) { return host_.run(id); }
  static bool comes(const std::function<bool()>& condition) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!condition()) {
      if (std::chrono::steady_clock::now() > deadline) return false;
      std::this_thread::sleep_for(10ms);
    }
    return true;
  }
  bool reaches(const std::string& id, RunState state) {
    return comes([&] { return run(id).state == state; });
  }
  bool gives(const std::string& id, const std::string& reason) {
    return comes([&] { return run(id).reason == reason; });
  }
  bool queued(const std::string& label) {
    return comes([&] {
      const auto job = cluster_.job(label);
      return job && job->status.state == AttemptState::kQueued;
    });
  }
  std::string log(const std::string& id) {
    const auto file = RunPlaces(host_, run(id)).log;
    return std::filesystem::exists(file) ? read_file(file) : "";
  }
  /// So long that the scheduler has looked some times.
  static void let_it_look() { std::this_thread::sleep_for(700ms); }

  TemporaryFolder folder_;
  std::atomic<int64_t> clock_ms_ = int64_t{1'700'000'000} * 1000, points_total_ = 0;
  catalog::Catalog catalog_{"sqlite://" + (folder_ / "catalog.db").string(), 2};
  KeptNews news_;
  Host host_{folder_ / "data", folder_ / "data" / "artifacts", catalog_, news_, points_total_};
  Cluster cluster_;
  std::unique_ptr<Scheduler> scheduler_;
};

// What the audit of a run says binds the jobs of its user; of an admin's run, everybody's.
TEST_F(RemoteQueue, AHostThatComputesWronglyIsMarkedAndAvoided) {
  const auto audited = [&](const std::string& user, const std::string& host, const char* of) {
    const std::string id = submit({}, user), label = id + "-1";
    EXPECT_TRUE(queued(label));
    write_file_atomically(
        RunPlaces(host_, run(id)).outputs / "metrics.jsonl",
        fmt::format(
            R"({{"kind":"audit","time":1700000000.5,"global_step":3,"clean_step":2,"{}":)"
            R"([{{"rank":1,"pid":77,"replicas":1,"host":"{}"}},{{"rank":2,"pid":78,"replicas":1,"host":"a b"}}],)"
            R"("what":"replica 3 differs"}})"
            "\n",
            of, host));
    cluster_.start(label, "node07", clock_ms_);
    cluster_.end(label, 13, 1800);
    EXPECT_TRUE(reaches(id, RunState::kFailed)) << run(id).reason;
    return id;
  };
  const std::string id = audited("alice", "n04", "wrong");
  audited("admin", "n05", "suspects");
  const auto marks = catalog_.read_as([](catalog::Database& database) { return catalog::host_marks(database); });
  ASSERT_EQ(marks.size(), 2U) << "what is no name of a host is none";
  EXPECT_EQ(marks[0].host + marks[0].user, "n04alice");
  EXPECT_EQ(marks[0].run, id);
  EXPECT_EQ(marks[0].worker, "rank 1, process 77");
  EXPECT_EQ(marks[0].what, "replica 3 differs");
  EXPECT_EQ(marks[0].marked_ms, clock_ms_);
  EXPECT_EQ(marks[1].host + marks[1].user, "n05");
  EXPECT_TRUE(marks[1].what.starts_with("one of several suspects: "));
  const std::string next = submit(), others = submit({}, "bob");
  ASSERT_TRUE(queued(next + "-1") && queued(others + "-1"));
  EXPECT_EQ(cluster_.job(next + "-1")->demand.avoid, (std::vector<std::string>{"n04", "n05"}));
  EXPECT_EQ(cluster_.job(others + "-1")->demand.avoid, std::vector<std::string>{"n05"});
}

TEST_F(RemoteQueue, WaitsForHoursAndSaysWhyThenRunsOnAHost) {
  catalog::Wishes wishes;
  wishes.resources = {16, 4096, 2};
  wishes.seconds_max = 3600;
  const std::string id = submit(wishes), label = id + "-1";
  ASSERT_TRUE(queued(label));
  EXPECT_EQ(cluster_.job(label)->demand, (launch::Demand{16, 4096, 2, 3600, "alice"}));
  ASSERT_TRUE(gives(id, "queued: Priority"));
  clock_ms_ += 6 * kHour_ms;
  cluster_.hold(label, "Resources");
  ASSERT_TRUE(gives(id, "queued: Resources"));
  clock_ms_ += 48 * kHour_ms;
  let_it_look();
  EXPECT_EQ(run(id).state, RunState::kStarting);
  EXPECT_EQ(cluster_.job(label)->cancellations, 0);  // the limit of time is one of running

  launch::AttemptUse use;  // all that such a system tells
  use.memory_bytes = 512 << 20;
  cluster_.use(label, use);
  cluster_.start(label, "node07", clock_ms_);
  ASSERT_TRUE(reaches(id, RunState::kRunning));
  EXPECT_EQ(run(id).reason, "attempt 1 on node07");
  cluster_.print(label, "epoch 1 of 2\n");
  ASSERT_TRUE(comes([&] { return log(id) == "epoch 1 of 2\n"; }));
  cluster_.print(label, "epoch 2 of 2\n");
  cluster_.end(label, 0, 1800);
  ASSERT_TRUE(reaches(id, RunState::kSucceeded)) << run(id).reason;
  EXPECT_EQ(log(id), "epoch 1 of 2\nepoch 2 of 2\n");
  EXPECT_EQ(news_.log(), log(id));
  EXPECT_TRUE(news_.told("queued: Resources"));
  const auto memory =
      catalog_.read_as([&](catalog::Database& database) { return catalog::curve(database, id, "system/memory_mb"); });
  ASSERT_FALSE(memory.empty());
  EXPECT_EQ(memory[0].value, 512);
  EXPECT_EQ(cluster_.job(label)->submissions, 1);
}

TEST_F(RemoteQueue, ALimitOfTimeBeginsWithTheRun) {
  catalog::Wishes wishes;
  wishes.seconds_max = 3600;
  const std::string id = submit(wishes), label = id + "-1";
  ASSERT_TRUE(queued(label));
  clock_ms_ += 24 * kHour_ms;
  cluster_.start(label, "node07", clock_ms_);
  ASSERT_TRUE(reaches(id, RunState::kRunning));
  clock_ms_ += kHour_ms / 2;
  let_it_look();
  EXPECT_EQ(run(id).state, RunState::kRunning);
  clock_ms_ += kHour_ms;
  ASSERT_TRUE(reaches(id, RunState::kFailed));
  EXPECT_NE(run(id).reason.find("limit of time"), std::string::npos) << run(id).reason;
}

TEST_F(RemoteQueue, IsCancelledWhileItIsQueuedAndWhileItRuns) {
  const std::string waiting = submit(), running = submit();
  ASSERT_TRUE(queued(waiting + "-1"));
  ASSERT_TRUE(queued(running + "-1"));
  cluster_.start(running + "-1", "node07", clock_ms_);
  ASSERT_TRUE(reaches(running, RunState::kRunning));
  for (const std::string& id : {waiting, running})
    catalog_.write([&](catalog::Database& database) { catalog::cancel(database, id, "not needed"); });
  for (const std::string& id : {waiting, running}) {
    ASSERT_TRUE(reaches(id, RunState::kCancelled)) << run(id).reason;
    EXPECT_EQ(run(id).reason, "not needed");
    EXPECT_EQ(cluster_.job(id + "-1")->status.state, AttemptState::kEnded);
  }
}

TEST_F(RemoteQueue, WhatTheClusterDropsFromItsQueueHasFailedWithItsReason) {
  const std::string id = submit();
  ASSERT_TRUE(queued(id + "-1"));
  ClusterLauncher(cluster_).cancel({id + "-1", {}});  // by somebody else
  ASSERT_TRUE(reaches(id, RunState::kFailed));
  EXPECT_EQ(run(id).reason, "cancelled");
}

TEST_F(RemoteQueue, WhatIsLostIsTriedAgainUnderAnotherLabel) {
  const std::string id = submit();
  ASSERT_TRUE(queued(id + "-1"));
  cluster_.start(id + "-1", "node07", clock_ms_);
  cluster_.print(id + "-1", "first\n");
  ASSERT_TRUE(comes([&] { return log(id) == "first\n"; }));
  cluster_.lose(id + "-1", "node07 does not answer");
  ASSERT_TRUE(queued(id + "-2"));
  EXPECT_TRUE(news_.told("node07 does not answer"));
  cluster_.start(id + "-2", "node08", clock_ms_);
  cluster_.print(id + "-2", "second\n");
  ASSERT_TRUE(gives(id, "attempt 2 on node08"));
  cluster_.end(id + "-2", 0, 60);
  ASSERT_TRUE(reaches(id, RunState::kSucceeded));
  EXPECT_EQ(log(id), "first\nsecond\n");
}

TEST_F(RemoteQueue, ARestartAdoptsWhatWaitsAndWhatRuns) {
  const std::string waiting = submit(), running = submit(), ending = submit();
  for (const std::string& id : {waiting, running, ending}) ASSERT_TRUE(queued(id + "-1"));
  for (const std::string& id : {running, ending}) {
    cluster_.start(id + "-1", "node07", clock_ms_);
    cluster_.print(id + "-1", "before\n");
    ASSERT_TRUE(comes([&] { return log(id) == "before\n"; }));
  }
  scheduler_.reset();
  clock_ms_ += 5 * kHour_ms;
  cluster_.print(running + "-1", "meanwhile\n");
  cluster_.end(ending + "-1", 0, 100);
  start();
  ASSERT_TRUE(reaches(ending, RunState::kSucceeded));
  ASSERT_TRUE(comes([&] { return log(running) == "before\nmeanwhile\n"; }));
  let_it_look();
  EXPECT_EQ(cluster_.size(), 3u);
  for (const std::string& id : {waiting, running, ending}) {
    EXPECT_EQ(cluster_.job(id + "-1")->submissions, 1) << id;
    EXPECT_EQ(cluster_.job(id + "-1")->cancellations, 0) << id;
  }
  EXPECT_EQ(run(waiting).state, RunState::kStarting);
  cluster_.start(waiting + "-1", "node08", clock_ms_);
  ASSERT_TRUE(reaches(waiting, RunState::kRunning));
  for (const std::string& id : {waiting, running}) {
    cluster_.end(id + "-1", 0, 100);
    ASSERT_TRUE(reaches(id, RunState::kSucceeded));
  }
}

TEST_F(RemoteQueue, ARestartHandsOverWhatWasOnlyWrittenDown) {
  scheduler_.reset();
  catalog::NewRun run;
  run.user = "alice";
  const std::string id = catalog_.write([&](catalog::Database& database) {
    const std::string made = catalog::submit(database, run, "a job", {}, "");
    EXPECT_TRUE(catalog::start_next(database, {{128, 1 << 20, 8}, {128, 1 << 20, 8}}, 1));
    return made;
  });
  start();
  ASSERT_TRUE(queued(id + "-1"));
  EXPECT_EQ(cluster_.job(id + "-1")->submissions, 1);
}

TEST_F(RemoteQueue, WhatWasTakenWhileTheAnswerWasLostIsNoOrphan) {
  scheduler_.reset();
  cluster_.lose_next_answer();
  start();
  const std::string id = submit();
  ASSERT_TRUE(reaches(id, RunState::kFailed));
  EXPECT_NE(run(id).reason.find("did not answer"), std::string::npos) << run(id).reason;
  EXPECT_EQ(cluster_.job(id + "-1")->status.state, AttemptState::kEnded);

  // The same, while not even the cancellation came through: the next service finds it.
  scheduler_.reset();
  const launch::AttemptKey orphan{id + "-1", {}}, others{"0123456789abcdef-1", {}};
  ClusterLauncher launcher(cluster_);
  launcher.prepare(others, {});
  launcher.start(others, {});
  cluster_.queue_again(orphan.label);
  start();
  ASSERT_TRUE(comes([&] { return cluster_.job(orphan.label)->status.state == AttemptState::kEnded; }));
  EXPECT_EQ(cluster_.job(others.label)->cancellations, 0);  // another service's
}

TEST_F(RemoteQueue, WhoCannotBeAskedHasNotLostTheJob) {
  const std::string id = submit(), label = id + "-1";
  ASSERT_TRUE(queued(label));
  cluster_.start(label, "node07", clock_ms_);
  ASSERT_TRUE(reaches(id, RunState::kRunning));
  cluster_.reachable(false);
  let_it_look();
  EXPECT_EQ(run(id).state, RunState::kRunning);
  cluster_.reachable(true);
  cluster_.end(label, 0, 60);
  ASSERT_TRUE(reaches(id, RunState::kSucceeded));
}

}  // namespace
}  // namespace linac::execution
