// A site of this host whose program is a script of the test: how launches begin, end, and are found again.
#include "linac/control/sites/launching.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/control/sites/memory.h"
#include "linac/control/sites/scripts.h"
#include "linac/control/sites/shell.h"
#include "linac/control/sites/sites_file.h"

namespace linac::sites {
namespace {

namespace fs = std::filesystem;
using job::RunState;

class Launches : public testing::Test {
 protected:
  void SetUp() override {
    ASSERT_EQ(setenv("XDG_STATE_HOME", (folder_ / "state").c_str(), 1), 0);
    write_file_atomically(folder_ / "job.yaml",
                          "name: demo\nmodel: {kind: inclusive_classifier}\ndata: {train: [events.parquet], targets: "
                          "[{column: label}]}\n");
    write_file_atomically(folder_ / "events.parquet", "");
    program("exit 0");
  }
  void TearDown() override { unsetenv("XDG_STATE_HOME"); }

  // What stands for linac; `starts` counts how often it is started.
  void program(const std::string& what) {
    const auto path = folder_ / "linac it's";
    write_file_atomically(path,
                          "#!/bin/sh\necho >> " + (folder_ / "starts").string() + "\necho \"$@\"\n" + what + "\n");
    fs::permissions(path, fs::perms::owner_all);
  }
  std::unique_ptr<Site> site(const std::string& more = "") const {
    return std::move(parse_sites("here: {kind: local, folder: " + (folder_ / "site").string() + ", program: \"" +
                                     (folder_ / "linac it's").string() + "\"" + more + "}",
                                 "sites.yaml")
                         .front());
  }
  Launch launch(const std::string& name = "", const std::string& epochs = "1") const {
    return make_launch(*site(), {.job = (folder_ / "job.yaml").string(),
                                 .overrides = {"train.epochs=" + epochs, "train.replicas=4"},
                                 .name = name,
                                 .workers = "2",
                                 .time = {},
                                 .out = {}});
  }
  size_t starts() const { return fs::exists(folder_ / "starts") ? fs::file_size(folder_ / "starts") : 0; }
  Standing wait_for_end(const Record& record) const {
    for (int tries = 0; tries < 500; ++tries) {
      const Standing standing = site()->standing(record);
      if (job::ended(standing.state)) return standing;
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
    }
    return {};
  }
  void wait_for_start() const {
    for (int tries = 0; tries < 500 && starts() == 0; ++tries)
      std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }

  TemporaryFolder folder_;
};

TEST_F(Launches, ComeToTheirEnd) {
  const Started started = start(*site(), launch(), false);
  EXPECT_FALSE(started.found);
  EXPECT_EQ(wait_for_end(started.kept.record).state, RunState::kSucceeded);
  const std::string log = site()->log(started.kept.record, 0);
  expect_in(log, {"train job.yaml --out", "--resume-or-start --workers 2"});
  EXPECT_EQ(site()->log(started.kept.record, 5), log.substr(5));
  EXPECT_EQ(starts(), 1);
  EXPECT_EQ(find_launch("here", "demo", true).record.label, started.kept.record.label);
}

TEST(Launching, WhatIsPlannedBeyondTheBudgetIsTold) {
  job::Job job;
  job.plan.on = "farm";
  job.plan.money = {10, 12, 14};
  job.plan.hours = {1, 2, 3};
  EXPECT_TRUE(over_budget(job).empty());
  job.budget.money = 11;
  job.budget.hours = 0.5;
  const std::vector<Finding> found = over_budget(job);
  ASSERT_EQ(found.size(), 1u) << "an even chance is the user's own";
  EXPECT_FALSE(found[0].good);
  expect_in(found[0].text, {"plan.hours is 1 to 3", "budget.hours allows 0.5"});
}

// What of workers of 12 GiB each the site's entry has no room for.
std::string too_little(const std::string& entry, int workers) {
  job::Job job;
  job.plan.memory_gib = 12;
  std::string words;
  for (const Finding& finding :
       over_memory(*parse_sites("there: {folder: /a, " + entry + "}", "s.yaml")[0], job, workers))
    words += finding.what + ": " + finding.text + "\n";
  return words;
}

TEST(Launching, WorkersThatAHostHasNoRoomForAreTold) {
  EXPECT_EQ(too_little("kind: slurm, memory: 16G", 4), "");
  EXPECT_EQ(too_little("kind: slurm, workers_per_node: 2", 4), "") << "nobody says";
  expect_in(too_little("kind: slurm, memory: 10G", 4),
            {"memory: 1 worker of 12 GiB (plan.memory_gib)", "memory: 10G gives them 10", "raise it", "train.batch"});
  EXPECT_EQ(too_little("kind: slurm, sbatch: [--mem=25G], workers_per_node: 2", 4), "");
  expect_in(too_little("kind: slurm, sbatch: [--mem=20000], workers_per_node: 2", 4), {"2 workers", "--mem=20000"});
  EXPECT_EQ(too_little("kind: slurm, sbatch: [--mem=20000], workers_per_node: 2", 1), "") << "it has the node alone";
  EXPECT_EQ(too_little("kind: slurm, sbatch: [--mem=0], workers_per_node: 2", 4), "") << "all that the node has";
  expect_in(too_little("kind: slurm, sbatch: [--mem-per-cpu 2G], cpus: 4", 4), {"--mem-per-cpu 2G gives them 8"});
  expect_in(too_little("kind: ssh, hosts: [a, b], workers_per_host: 2, plan: {memory_gib: 16}", 4),
            {"2 workers of 12 GiB", "take 24", "plan.memory_gib of the site"});
  expect_in(too_little("kind: mpi, hosts: [a], slots: 16, plan: {machine: gcp/v100x8}", 16),
            {"16 workers", "take 192", "plan.machine gcp/v100x8 gives them 120"});
  expect_in(message_of([] { too_little("kind: mpi, hosts: [a], plan: {machine: gcp/none}", 1); }),
            {"there: plan.machine", "no 'gcp/none'"});
  const std::string cluster = "kind: kubernetes, image: linac, volume: 'pvc:a', memory: ";
  EXPECT_EQ(too_little(cluster + "12Gi", 4), "");
  expect_in(too_little(cluster + "12G", 4), {"1 worker", "memory: 12G gives them 11.2"});
  expect_in(too_little("kind: local", 100000), {"100000 workers", "this host gives"});
}

TEST_F(Launches, EndAsTheirProgramDoes) {
  program("exit 3");
  expect_in(wait_for_end(start(*site(), launch("a"), true).kept.record).reason, {"exit status 3"});
  program("exit 9");
  EXPECT_EQ(wait_for_end(start(*site(), launch("b"), true).kept.record).state, RunState::kLost);
}

TEST_F(Launches, OfOneNameAreOne) {
  program("sleep 0.2");
  const Started first = start(*site(), launch("once"), true), second = start(*site(), launch("once"), true);
  EXPECT_TRUE(second.found);
  EXPECT_EQ(wait_for_end(first.kept.record).state, RunState::kSucceeded);
  EXPECT_TRUE(start(*site(), launch("once"), true).found);
  EXPECT_EQ(starts(), 1);
  expect_in(message_of([&] { start(*site(), launch("once", "2"), true); }), {"another launch has it"});
}

TEST_F(Launches, WhoseClientDiedAreFoundAgain) {
  // It died before it could keep that the launch was submitted: once behind that moment, once before it.
  KeptLaunch kept = start(*site(), launch(), false).kept;
  kept.submitted = false;
  keep(kept);
  const Started again = start(*site(), launch(), false);
  EXPECT_TRUE(again.found);
  EXPECT_EQ(again.kept.record.label, kept.record.label);
  EXPECT_EQ(wait_for_end(again.kept.record).state, RunState::kSucceeded);
  EXPECT_EQ(starts(), 1);

  fs::remove_all(folder_ / "site");
  keep(kept);
  EXPECT_EQ(start(*site(), launch(), false).kept.record.label, kept.record.label);
  EXPECT_EQ(wait_for_end(kept.record).state, RunState::kSucceeded);
  EXPECT_EQ(starts(), 2);
  EXPECT_NE(start(*site(), launch(), false).kept.record.label, kept.record.label) << "the next one is another";
}

TEST_F(Launches, AreAskedToStopAndThenMadeTo) {
  program("trap 'exit 75' TERM; while :; do sleep 0.02; done");
  const Record polite = start(*site(), launch("polite"), true).kept.record;
  wait_for_start();
  expect_in(site()->cancel(polite), {"checkpoint"});
  EXPECT_EQ(wait_for_end(polite).state, RunState::kCancelled);
  EXPECT_EQ(site()->cancel(polite), "nothing of it runs");

  program("trap '' TERM; while :; do sleep 0.02; done");
  const Record deaf = start(*site(), launch("deaf"), true).kept.record;
  for (int tries = 0; tries < 500 && starts() < 2; ++tries) std::this_thread::sleep_for(std::chrono::milliseconds(10));
  site()->cancel(deaf);
  EXPECT_EQ(site()->standing(deaf).state, RunState::kRunning);
  expect_in(site()->cancel(deaf), {"killed"});
  EXPECT_EQ(wait_for_end(deaf).state, RunState::kCancelled);
}

TEST_F(Launches, ThatWereKilledAreLost) {
  program("sleep 60");
  const Record record = start(*site(), launch("killed"), true).kept.record;
  wait_for_start();
  const auto pid = std::stoi(read_file(folder_ / "site" / "killed" / "launch" / "pid-0"));
  ASSERT_EQ(kill(-pid, SIGKILL), 0);
  EXPECT_EQ(wait_for_end(record).state, RunState::kLost);
}

TEST_F(Launches, EndAtTheirTime) {
  program("trap 'exit 75' TERM; while :; do sleep 0.02; done");
  Launch timed = launch("timed");
  timed.seconds_max = 1;
  const Standing end = wait_for_end(start(*site(), timed, true).kept.record);
  EXPECT_EQ(end.state, RunState::kCancelled);
  expect_in(end.reason, {"checkpoint"});
}

TEST_F(Launches, AreForTheirUserAlone) {
  const Record record = start(*site(), launch("mine"), true).kept.record;
  wait_for_end(record);
  const auto mode = [](const fs::path& path) {
    return fs::status(path).permissions() & (fs::perms::group_all | fs::perms::others_all);
  };
  EXPECT_EQ(mode(folder_ / "site" / "mine" / "launch"), fs::perms::none);
  EXPECT_EQ(mode(folder_ / "state" / "linac" / "launches" / "here" / "mine.json"), fs::perms::none);
}

TEST_F(Launches, ThatCanBeNoneAreRefused) {
  const auto wish = [&](Wishes wishes) {
    wishes.job = (folder_ / "job.yaml").string();
    wishes.overrides = {"train.replicas=4"};
    return message_of([&] { make_launch(*site(), wishes); });
  };
  expect_in(wish({.job = {}, .overrides = {}, .name = "../a", .workers = {}, .time = {}, .out = {}}), {"--name ../a"});
  expect_in(wish({.job = {}, .overrides = {}, .name = {}, .workers = "5", .time = {}, .out = {}}),
            {"5 workers for train.replicas = 4"});
  expect_in(wish({.job = {}, .overrides = {}, .name = {}, .workers = "3:2", .time = {}, .out = {}}), {"--workers 3:2"});
  expect_in(wish({.job = {}, .overrides = {}, .name = {}, .workers = {}, .time = "soon", .out = {}}), {"--time soon"});
  expect_in(wish({.job = {}, .overrides = {}, .name = {}, .workers = {}, .time = {}, .out = "runs/a"}),
            {"--out runs/a", "not here"});
}

TEST_F(Launches, WhoseRecordIsDamagedArePassedBy) {
  start(*site(), launch("good"), true);
  const auto state = folder_ / "state" / "linac" / "launches" / "here";
  write_file_atomically(state / "bad.json", "{\"label\": 3");
  write_file_atomically(state / "other.json", read_file(state / "good.json"));
  ASSERT_EQ(mkfifo((state / "pipe.json").c_str(), 0600), 0);
  ASSERT_EQ(kept_launches("here").size(), 1);
}

TEST(Ends, MeanTheSameHereAndThere) {
  const std::vector<std::vector<int>> cases{{0}, {137, 0},     {6, 3, 6}, {75, 6}, {6, 75},
                                            {9}, {137, 75, 3}, {3, 137},  {}};
  for (const auto& statuses : cases) {
    std::string script = end_of_run_function();
    const TemporaryFolder folder;
    fs::create_directories(folder / "ends");
    for (size_t i = 0; i < statuses.size(); ++i)
      write_file_atomically(folder / ("ends/0-" + std::to_string(i)), std::to_string(statuses[i]) + "\n");
    write_file_atomically(folder / "ends/1-0", "1\n");
    const ShellAnswer answer =
        Shell().run("cd " + folder.path().string() + "\n" + script + "echo \"linac: end $(end_of_run 0)\"");
    const int end = end_of_run(statuses);
    EXPECT_EQ(answer.last("end"), end < 0 ? "" : std::to_string(end));
  }
}

TEST(Locks, AreHeldByTheirGroupAlone) {
  const TemporaryFolder folder;
  const std::string script =
      "cd " + folder.path().string() + "\n" + holds_function() +
      "ask() { holds \"$1\" \"$2\" && echo \"linac: held $2\"; }\n"
      "read -r line < /proc/$$/stat\nset -- ${line##*) }\nmine=$3\n"
      ": > free\nask free $mine\n"
      "exec 9>lock\nfor number in '' 0 1 -1 -$mine $mine,1 '*' 'a b'; do ask lock \"$number\"; done\n"
      "ask lock 99999999\nask lock $mine\necho \"linac: mine $mine\"";
  const ShellAnswer answer = Shell().run(script);
  EXPECT_EQ(answer.said("held"), std::vector<std::string>{answer.last("mine")});
}

TEST(Shells, ReadAScriptWholeAndTellOfItsEnd) {
  EXPECT_EQ(Shell().run("exit 7").status, 7);
  EXPECT_EQ(Shell().run("kill -9 $$").status, 137);
  const std::string large(3 << 20, 'x');
  EXPECT_EQ(Shell().run("printf %s '" + large + "'").out, large);
  EXPECT_EQ(Shell().run("cat; echo end").out, "end\n") << "the script is not the input of its commands";
  expect_in(message_of(ErrorCode::kEnvironment, [] { Shell().run("sleep 5", std::chrono::seconds(1)); }),
            {"no answer within 1 s"});
  expect_in(message_of(ErrorCode::kEnvironment, [] { Shell({"/nowhere/ssh"}, "n01").run("true"); }),
            {"/nowhere/ssh", "cannot be started"});
  expect_in(message_of(ErrorCode::kEnvironment, [] { Shell().need("cannot be asked", "echo why >&2; exit 3"); }),
            {"this host", "why"});
}

}  // namespace
}  // namespace linac::sites
