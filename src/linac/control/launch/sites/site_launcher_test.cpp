// Against a site of this host, whose program is a shell script in place of linac: it starts real processes.

#include "linac/control/launch/sites/site_launcher.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <functional>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/error.h"
#include "linac/base/base/host.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/sites/sites_file.h"

namespace linac::launch {
namespace {

namespace fs = std::filesystem;
using namespace std::chrono_literals;

constexpr const char* kJob =
    "name: small\nmodel: {kind: inclusive_classifier}\ndata: {train: [/data/train.h5], targets: [{column: label}]}\n";
// What it is told of a job: train job.yaml --out OUT --resume-or-start --workers N.
constexpr const char* kProgram =
    "#!/bin/sh\n"
    "out=$4\n"
    "mkdir -p \"$out\"\n"
    "echo started >> \"$out/starts\"\n"
    "echo '{\"kind\": \"step\"}' > \"$out/metrics.jsonl\"\n"
    "echo \"begun $out\"\n"
    "trap 'echo asked; exit 75' TERM\n"
    "while [ -d FOLDER ] && [ ! -e FOLDER/go ]; do sleep 0.05; done\n"
    "echo done\n"
    "exit $(cat FOLDER/go)\n";

class AtASite : public testing::Test {
 protected:
  AtASite() {
    std::string program = kProgram;
    for (size_t at = 0; (at = program.find("FOLDER")) != std::string::npos;) program.replace(at, 6, folder_.path());
    write_file_atomically(folder_ / "linac", program);
    fs::permissions(folder_ / "linac", fs::perms::owner_all);
    start();
  }
  // What runs comes to its end.
  ~AtASite() override { write_file_atomically(folder_ / "go", "0"); }

  void start(int64_t keep_free = 0) {
    launcher_.reset();
    auto sites = sites::parse_sites("here: {kind: local, folder: " + (folder_ / "site").string() +
                                        ", program: " + (folder_ / "linac").string() + "}\n",
                                    "sites.yaml");
    SiteLauncherSettings of;
    of.folder = folder_ / "service";
    of.keep_free = keep_free;
    of.outputs = [this](const std::string&) { return folder_ / "run"; };
    launcher_ = std::make_unique<SiteLauncher>(std::move(sites.front()), of);
  }
  void submit(const AttemptKey& key, const Demand& demand = {}) {
    fs::create_directories(folder_ / "run");
    launcher_->prepare(key, demand);
    Command command;
    command.job = kJob;
    command.stop_grace_s = 60;
    launcher_->start(key, command);
  }
  bool comes(const AttemptKey& key, AttemptState state) {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (launcher_->status(key).state != state) {
      launcher_->output(key, taken_, 1000);  // as a scheduler does
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }
  bool forgotten() {
    const auto end = std::chrono::steady_clock::now() + 30s;
    while (!launcher_->labels().empty()) {
      if (std::chrono::steady_clock::now() > end) return false;
      std::this_thread::sleep_for(20ms);
    }
    return true;
  }
  // In the run's folder there: no file of a run, so it stays there.
  std::string starts() {
    EXPECT_FALSE(fs::exists(folder_ / "run" / "starts"));
    return read_file(folder_ / "site" / ("linac-" + mark_of(folder_ / "service") + "-0123") / "starts");
  }

  TemporaryFolder folder_;
  int64_t taken_ = 0;
  const AttemptKey key_{"0123-1", "/nowhere"};
  std::unique_ptr<SiteLauncher> launcher_;
};

TEST_F(AtASite, ComesToItsEndWithItsLogAndItsFiles) {
  submit(key_);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  EXPECT_EQ(launcher_->status(key_).hosts, std::vector<std::string>{"here (1 of 1)"});
  EXPECT_GT(launcher_->status(key_).started_ms, 0);
  write_file_atomically(folder_ / "go", "0");
  ASSERT_TRUE(comes(key_, AttemptState::kEnded));
  ASSERT_TRUE(launcher_->status(key_).exit);
  EXPECT_EQ(launcher_->status(key_).exit->status, 0);
  // Nobody may have seen it while it ran.
  ASSERT_EQ(launcher_->status(key_).hosts.size(), 1U);
  EXPECT_TRUE(launcher_->status(key_).hosts[0].starts_with("here"));
  const std::string log = launcher_->output(key_, 0, 1000).value();
  EXPECT_NE(log.find("begun "), std::string::npos) << log;
  EXPECT_NE(log.find("done"), std::string::npos) << log;
  EXPECT_EQ(read_file(folder_ / "run" / "metrics.jsonl"), "{\"kind\": \"step\"}\n");
  EXPECT_EQ(starts(), "started\n");
  launcher_->release(key_);
  EXPECT_TRUE(forgotten());
}

// A site of this host has no other one.
TEST_F(AtASite, HostsThatComputeWronglyAreAvoided) {
  Demand demand;
  demand.avoid = {"elsewhere", "fe80::1"};  // the second is no name that a site could know
  submit(key_, demand);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  EXPECT_EQ(SiteAttempts(folder_ / "service" / "here").find(key_.label)->kept.launch.exclude,
            std::vector<std::string>{"elsewhere"});
  demand.avoid = {host_name()};
  const AttemptKey other{"0124-1", "/nowhere"};
  submit(other, demand);
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (launcher_->status(other).reason.find("which is excluded") == std::string::npos &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(20ms);
  EXPECT_NE(launcher_->status(other).reason.find("linac hosts list"), std::string::npos)
      << launcher_->status(other).reason;
  EXPECT_EQ(starts(), "started\n");
  launcher_->cancel(other);
}

TEST_F(AtASite, ANewServiceGoesOnWithIt) {
  submit(key_);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  const int64_t started_ms = launcher_->status(key_).started_ms;
  start();
  EXPECT_EQ(launcher_->labels(), std::vector<std::string>{key_.label});
  submit(key_);  // nobody knows whether it was
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  EXPECT_EQ(launcher_->status(key_).started_ms, started_ms);
  write_file_atomically(folder_ / "go", "3");
  ASSERT_TRUE(comes(key_, AttemptState::kEnded));
  EXPECT_EQ(launcher_->status(key_).exit->status, 3);
  EXPECT_EQ(starts(), "started\n");
}

// As if the former service had died between the site's answer and the disk.
TEST_F(AtASite, ANewServiceThatDoesNotKnowWhetherTheSiteHasItStartsItNoSecondTime) {
  submit(key_);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  launcher_.reset();
  const SiteAttempts kept(folder_ / "service" / "here");
  SiteAttempt attempt = kept.find(key_.label).value();
  EXPECT_TRUE(attempt.tried && attempt.kept.submitted);
  attempt.kept.submitted = false;
  attempt.started_ms = 0;
  kept.keep(attempt);
  start();
  launcher_->prepare(key_, {});
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  write_file_atomically(folder_ / "go", "0");
  ASSERT_TRUE(comes(key_, AttemptState::kEnded));
  EXPECT_EQ(starts(), "started\n");
}

TEST_F(AtASite, GoesOnWhereTheServicesDiskIsFull) {
  start(int64_t{1} << 60);
  submit(key_);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (launcher_->status(key_).reason.find("find no room") == std::string::npos &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(20ms);
  EXPECT_NE(launcher_->status(key_).reason.find("find no room"), std::string::npos) << launcher_->status(key_).reason;
  EXPECT_EQ(launcher_->status(key_).state, AttemptState::kRunning);
  EXPECT_FALSE(fs::exists(folder_ / "run" / "metrics.jsonl"));
}

TEST_F(AtASite, IsAskedToEndOnceAndNotKilledAtOnce) {
  submit(key_);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  for (int i = 0; i < 20; ++i) launcher_->cancel(key_);
  start();  // and a new service does not kill it either
  launcher_->prepare(key_, {});
  launcher_->cancel(key_);
  ASSERT_TRUE(comes(key_, AttemptState::kEnded));
  ASSERT_TRUE(launcher_->status(key_).exit);
  EXPECT_EQ(launcher_->status(key_).exit->status, 75);
  EXPECT_NE(launcher_->output(key_, 0, 1000)->find("asked"), std::string::npos);
}

TEST_F(AtASite, WhatHasEndedInTheCatalogIsEndedThere) {
  submit(key_);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  start();
  launcher_->cancel({key_.label, {}});
  EXPECT_TRUE(forgotten());
  EXPECT_FALSE(fs::exists(folder_ / "go"));  // it has ended all the same
}

TEST_F(AtASite, IsNotStartedWithSecrets) {
  launcher_->prepare(key_, {});
  Command command;
  command.job = kJob;
  command.secrets = {{"KEY", "value", false}};
  EXPECT_THROW(launcher_->start(key_, command), Error);
  EXPECT_TRUE(launcher_->labels().empty());
  EXPECT_FALSE(fs::exists(folder_ / "site"));
  launcher_->release(key_);
}

TEST_F(AtASite, WhatCannotBeReachedWaitsWithTheReason) {
  fs::create_directories(folder_ / "run");
  write_file_atomically(folder_ / "site", "a file in the folder's place");
  submit(key_);
  const auto end = std::chrono::steady_clock::now() + 30s;
  while (launcher_->status(key_).reason.find("this host") == std::string::npos &&
         std::chrono::steady_clock::now() < end)
    std::this_thread::sleep_for(20ms);
  EXPECT_EQ(launcher_->status(key_).state, AttemptState::kQueued);
  EXPECT_NE(launcher_->status(key_).reason.find("cannot"), std::string::npos) << launcher_->status(key_).reason;
  fs::remove(folder_ / "site");
  EXPECT_TRUE(comes(key_, AttemptState::kRunning));
}

TEST_F(AtASite, WhatIsKeptIsForItsOwnerAloneAndDamageIsTold) {
  submit(key_);
  const fs::path file = folder_ / "service" / "here" / (key_.label + ".json");
  struct stat about {};
  ASSERT_EQ(stat(file.parent_path().c_str(), &about), 0);
  EXPECT_EQ(about.st_mode & 077, 0u);
  ASSERT_TRUE(comes(key_, AttemptState::kRunning));
  launcher_.reset();
  write_file_atomically(file, "{}");
  start();
  EXPECT_THROW(launcher_->prepare(key_, {}), Error);
}

TEST_F(AtASite, TheMarkOfAServiceStays) {
  const std::string mark = mark_of(folder_ / "service");
  EXPECT_EQ(mark_of(folder_ / "service"), mark);
  EXPECT_NE(mark_of(folder_ / "other"), mark);
  write_file_atomically(folder_ / "service" / "mark", "../../..");
  EXPECT_THROW(mark_of(folder_ / "service"), Error);
}

}  // namespace
}  // namespace linac::launch
