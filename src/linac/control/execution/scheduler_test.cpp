// The queue carried out with shell scripts in place of trainings: a job's text is the script, $1 the folder of its
// outputs.

#include "linac/control/execution/scheduler.h"

#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/refusal.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/catalog/curves.h"
#include "linac/control/catalog/users.h"
#include "linac/control/launch/accounts.h"
#include "linac/control/launch/local_launcher.h"

namespace linac::execution {
namespace {

using namespace std::chrono_literals;
using catalog::RunState;

struct NoNews : News {
  void publish(const std::string&, std::string_view, const nlohmann::json&) override {}
  void publish_points(const std::string&, std::span<const catalog::KeyedPoint>) override {}
};

class SchedulerTest : public testing::Test {
 protected:
  SchedulerTest() {
    make_folder(folder_ / "data");
    start();
  }
  ~SchedulerTest() override { scheduler_.reset(); }

  void start() {
    AttemptSettings settings;
    settings.prices = prices_;
    settings.command = [](const std::string& job, const std::string& outputs) {
      return std::vector<std::string>{"/bin/sh", job, outputs};
    };
    settings.account = [this](catalog::Database&, const std::string&) { return account_; };
    settings.stop_grace_s = 5;
    scheduler_ = std::make_unique<Scheduler>(
        host_, settings,
        std::make_unique<launch::LocalLauncher>(std::vector<std::string>{LINAC_TEST_SUPERVISOR}, slots_,
                                                launch::ControlGroups()));
  }

  std::string submit(const std::string& script, const catalog::Wishes& wishes = {}) {
    catalog::NewRun run;
    run.user = "alice";
    const std::string id = host_.catalog.write(
        [&](catalog::Database& database) { return catalog::submit(database, run, script, wishes, ""); });
    scheduler_->wake();
    return id;
  }
  catalog::Run run(const std::string& id) {
    return host_.catalog.read_as([&](catalog::Database& database) { return catalog::run(database, id); });
  }
  bool reaches(const std::string& id, RunState state) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (run(id).state != state) {
      if (std::chrono::steady_clock::now() > deadline || (catalog::ended(run(id).state) && run(id).state != state))
        return false;
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }
  bool appears(const std::filesystem::path& file) {
    const auto deadline = std::chrono::steady_clock::now() + 30s;
    while (!std::filesystem::exists(file))
      if (std::chrono::steady_clock::now() > deadline) return false;
    return true;
  }
  std::vector<RunState> states(const std::string& id) {
    std::vector<RunState> states;
    for (const auto& change :
         host_.catalog.read_as([&](catalog::Database& database) { return catalog::transitions(database, id); }))
      states.push_back(change.to);
    return states;
  }
  std::string path(const std::string& name) { return (folder_ / name).string(); }

  TemporaryFolder folder_;
  std::string account_ = launch::own_account();
  launch::Slots slots_ = launch::Slots({0}, 1000, {});
  Prices prices_;
  catalog::Catalog catalog_{"sqlite://" + (folder_ / "catalog.db").string(), 2};
  NoNews news_;
  std::atomic<int64_t> points_total_ = 0;
  Host host_{folder_ / "data", folder_ / "data" / "artifacts", catalog_, news_, points_total_};
  std::unique_ptr<Scheduler> scheduler_;
};

TEST_F(SchedulerTest, RunsAJobAndBringsWhatItTellsIntoTheCatalog) {
  const std::string id = submit(R"(
cd $1
echo 'train: {seed: 7}' > job.yaml
echo '{"linac":"9.9","status":"succeeded","data":{"train":[{"url":"/d/a.h5","fingerprint":"ab"}]}}' > run.json
for i in 1 2 3; do echo '{"kind":"step","global_step":'$i',"lr":0.1,"loss":{"loss":'$i'.5}}' >> metrics.jsonl; sleep 0.1; done
)");
  ASSERT_TRUE(reaches(id, RunState::kSucceeded)) << run(id).reason;
  const catalog::Run done = run(id);
  EXPECT_EQ(done.parameters.at("train.seed"), "7");
  EXPECT_EQ(done.tags.at("linac.version"), "9.9");
  ASSERT_EQ(done.inputs.size(), 1u);
  EXPECT_EQ(done.inputs[0].digest, "ab");
  const auto curve =
      host_.catalog.read_as([&](catalog::Database& database) { return catalog::curve(database, id, "loss"); });
  ASSERT_EQ(curve.size(), 3u);
  EXPECT_EQ(curve[2].value, 3.5);
  EXPECT_EQ(states(id).back(), RunState::kSucceeded);
  EXPECT_GT(done.ended_ms, 0);
}

TEST_F(SchedulerTest, TellsWhyAJobFailed) {
  const std::string id = submit("echo '10:00:00 E [data] a.h5: damaged; give another' >&2; exit 3");
  ASSERT_TRUE(reaches(id, RunState::kFailedPrechecks));
  EXPECT_EQ(run(id).reason, "[data] a.h5: damaged; give another");
  const std::string later =
      submit("cd $1; echo '{\"kind\":\"step\",\"global_step\":1,\"loss\":{\"loss\":1.5}}' > metrics.jsonl; exit 3");
  ASSERT_TRUE(reaches(later, RunState::kFailed));
  const std::string crash = submit("kill -SEGV $$");
  ASSERT_TRUE(reaches(crash, RunState::kFailed));
  EXPECT_NE(run(crash).reason.find("signal 11"), std::string::npos) << run(crash).reason;
}

TEST_F(SchedulerTest, EndsTheJobsOfWhoIsDisabledAndHoldsThoseThatWait) {
  catalog::User alice;
  alice.name = "alice";
  host_.catalog.write([&](catalog::Database& database) { catalog::create_user(database, alice); });
  const std::string id = submit("touch " + path("up") + "; trap 'exit 75' TERM; while :; do sleep 0.05; done");
  ASSERT_TRUE(appears(path("up")));
  alice.disabled = true;
  host_.catalog.write([&](catalog::Database& database) { catalog::change_user(database, alice); });
  ASSERT_TRUE(reaches(id, RunState::kCancelled)) << run(id).reason;
  EXPECT_EQ(run(id).reason, "its owner was disabled");
  EXPECT_EQ(run(submit("true")).state, RunState::kPending);
}

TEST_F(SchedulerTest, JobsSeeTheirOwnGpusAndWaitForThem) {
  scheduler_.reset();
  slots_ = launch::Slots({0, 1}, 1000, {0, 1});
  start();
  catalog::Wishes wishes;
  wishes.resources.gpus = 1;
  const std::string script = "echo $CUDA_VISIBLE_DEVICES >> " + path("gpus") + "; sleep 0.3";
  const std::string first = submit(script, wishes), second = submit(script, wishes);
  ASSERT_TRUE(reaches(first, RunState::kSucceeded));
  ASSERT_TRUE(reaches(second, RunState::kSucceeded));
  wishes.resources.gpus = 2;
  const std::string both = submit("echo $CUDA_VISIBLE_DEVICES >> " + path("both"), wishes);
  ASSERT_TRUE(reaches(both, RunState::kSucceeded));
  const std::string seen = read_file(folder_ / "gpus");
  EXPECT_TRUE(seen == "0\n1\n" || seen == "1\n0\n") << seen;
  EXPECT_EQ(read_file(folder_ / "both"), "0,1\n");
}

TEST_F(SchedulerTest, WhatCostsTooMuchIsStoppedAndTheCostIsInTheCatalog) {
  scheduler_.reset();
  prices_.core = 3600;  // a second, a unit
  start();
  catalog::Wishes wishes;
  wishes.cost_max = 0.5;
  const std::string id = submit("trap 'exit 75' TERM; while true; do sleep 0.05; done", wishes);
  ASSERT_TRUE(reaches(id, RunState::kFailed));
  EXPECT_NE(run(id).reason.find("limit of cost"), std::string::npos) << run(id).reason;
  const std::string cost = run(id).tags.at("linac.cost");
  EXPECT_GE(std::stod(cost), 0.4) << cost;
  EXPECT_NE(cost.find(" EUR"), std::string::npos) << cost;
}

TEST_F(SchedulerTest, TriesAgainWhatWasLostOrPreempted) {
  const std::string id = submit("echo x >> " + path("tries") + "; case $(wc -l < " + path("tries") +
                                ") in 1) kill -KILL $$;; 2) exit 75;; esac");
  ASSERT_TRUE(reaches(id, RunState::kSucceeded)) << run(id).reason;
  EXPECT_EQ(read_file(path("tries")), "x\nx\nx\n");
  const auto all = states(id);
  EXPECT_EQ(std::count(all.begin(), all.end(), RunState::kRecovering), 2);

  catalog::Wishes wishes;
  wishes.attempts_max = 2;
  const std::string hopeless = submit("echo y >> " + path("hopeless") + "; kill -KILL $$", wishes);
  ASSERT_TRUE(reaches(hopeless, RunState::kLost)) << run(hopeless).reason;
  EXPECT_EQ(read_file(path("hopeless")), "y\ny\n");
}

TEST_F(SchedulerTest, StopsWhatIsCancelled) {
  const std::string id = submit("trap 'echo saved > " + path("saved") + "; exit 75' TERM; touch " + path("up") +
                                "; while :; do sleep 0.1 & wait; done");
  ASSERT_TRUE(appears(path("up")));
  host_.catalog.write([&](catalog::Database& database) { catalog::cancel(database, id, "not needed"); });
  scheduler_->wake();
  ASSERT_TRUE(reaches(id, RunState::kCancelled)) << run(id).reason;
  EXPECT_EQ(run(id).reason, "not needed");
  EXPECT_EQ(read_file(path("saved")), "saved\n");
}

TEST_F(SchedulerTest, StopsWhatHasUsedItsTime) {
  catalog::Wishes wishes;
  wishes.seconds_max = 1;
  const std::string id = submit("trap 'exit 75' TERM; while :; do sleep 0.1 & wait; done", wishes);
  ASSERT_TRUE(reaches(id, RunState::kFailed));
  EXPECT_NE(run(id).reason.find("limit of time"), std::string::npos) << run(id).reason;
}

TEST_F(SchedulerTest, FindsWhatRunsAfterARestart) {
  const std::string id =
      submit("echo x >> " + path("runs") +
             "; sleep 1.5; echo '{\"kind\":\"step\",\"global_step\":1,\"loss\":{\"loss\":2}}' > $1/metrics.jsonl");
  ASSERT_TRUE(appears(path("runs")));
  scheduler_.reset();
  std::this_thread::sleep_for(300ms);
  start();
  ASSERT_TRUE(reaches(id, RunState::kSucceeded)) << run(id).reason;
  EXPECT_EQ(read_file(path("runs")), "x\n");
  const auto curve =
      host_.catalog.read_as([&](catalog::Database& database) { return catalog::curve(database, id, "loss"); });
  EXPECT_EQ(curve.size(), 1u);
}

TEST_F(SchedulerTest, FindsHowAnAttemptEndedWhileNobodyLooked) {
  const std::string id = submit("touch " + path("up") + "; sleep 0.3; exit 5");
  ASSERT_TRUE(appears(path("up")));
  scheduler_.reset();
  std::this_thread::sleep_for(800ms);
  start();
  ASSERT_TRUE(reaches(id, RunState::kFailed));
}

TEST_F(SchedulerTest, StartsAnAttemptThatWasOnlyWrittenDown) {
  scheduler_.reset();
  catalog::NewRun run;
  run.user = "alice";
  const std::string id = host_.catalog.write([&](catalog::Database& database) {
    const std::string made = catalog::submit(database, run, "echo x >> " + path("runs"), {}, "");
    EXPECT_TRUE(catalog::start_next(database, {{1, 1000, 0}, {1, 1000, 0}}, 1));
    return made;
  });
  start();
  ASSERT_TRUE(reaches(id, RunState::kSucceeded));
  EXPECT_EQ(read_file(path("runs")), "x\n");
}

TEST_F(SchedulerTest, OneSlotIsForOneJobAndDependenciesComeFirst) {
  const std::string log = path("order");
  const std::string first = submit("echo 1a >> " + log + "; sleep 0.4; echo 1b >> " + log);
  catalog::Wishes after;
  after.depends_on = {first};
  after.priority = 5;
  const std::string third = submit("echo 3 >> " + log, after);
  const std::string second = submit("echo 2 >> " + log);
  ASSERT_TRUE(reaches(third, RunState::kSucceeded));
  ASSERT_TRUE(reaches(second, RunState::kSucceeded));
  const std::string order = read_file(log);
  EXPECT_TRUE(order == "1a\n1b\n3\n2\n" || order == "1a\n1b\n2\n3\n") << order;
}

TEST_F(SchedulerTest, RefusesJobsOfUsersWithoutAccount) {
  account_ = "";
  const std::string id = submit("touch " + path("ran"));
  ASSERT_TRUE(reaches(id, RunState::kFailed));
  EXPECT_NE(run(id).reason.find("no account"), std::string::npos) << run(id).reason;
  EXPECT_FALSE(std::filesystem::exists(path("ran")));
}

TEST_F(SchedulerTest, ARunThatResumesTellsEachStepOnce) {
  const std::string id = submit("echo x >> " + path("n") + R"(
line() { echo '{"kind":"step","global_step":'$1',"loss":{"loss":'$1'}}'; }
cd $1
if [ $(wc -l < )" + path("n") + R"() = 1 ]; then (line 1; line 2; line 3) > metrics.jsonl; sleep 0.5; exit 75; fi
(line 1; line 2; line 3; line 4) > new; mv new metrics.jsonl
)");
  ASSERT_TRUE(reaches(id, RunState::kSucceeded)) << run(id).reason;
  const auto curve =
      host_.catalog.read_as([&](catalog::Database& database) { return catalog::curve(database, id, "loss"); });
  ASSERT_EQ(curve.size(), 4u);
  for (int64_t i = 0; i < 4; ++i) EXPECT_EQ(curve[static_cast<size_t>(i)].step, i + 1);
}

}  // namespace
}  // namespace linac::execution
