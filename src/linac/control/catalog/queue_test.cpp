#include "linac/control/catalog/queue.h"

#include <gtest/gtest.h>

#include "linac/base/base/clock.h"
#include "linac/control/catalog/test_catalog.h"
#include "linac/control/catalog/users.h"

namespace linac::catalog {
namespace {

constexpr Resources kHost{.cores = 4, .memory_mb = 8000, .gpus = 1};

class QueueTest : public RecordsTest {
 protected:
  std::string add(const std::string& name, const std::string& user = "kim", Wishes wishes = {},
                  const std::string& key = "") {
    NewRun run;
    run.name = name;
    run.user = user;
    return submit(db(), run, "train: {}", wishes, key);
  }
  std::string order() {
    std::string names;
    for (const auto& job : queue(db())) names += job.name + ' ';
    return names;
  }
  std::string next(const Resources& free = kHost) {
    const auto attempt = start_next(db(), {kHost, free}, now_ms());
    return attempt ? attempt->job.name : "";
  }
  RunState end(const std::string& run, Outcome outcome, double seconds = 1) {
    return attempt_ended(db(), run, queued_job(db(), run).attempts, outcome, seconds, "because");
  }
  RunState state(const std::string& run) { return queued_job(db(), run).state; }
};
LINAC_BOTH_DATABASES(QueueTest);

TEST_P(QueueTest, ByPriorityThenAge) {
  add("a");
  add("b");
  Wishes urgent;
  urgent.priority = 5;
  const std::string c = add("c", "kim", urgent);
  EXPECT_EQ(order(), "c a b ");
  EXPECT_EQ(next(), "c");
  EXPECT_EQ(state(c), RunState::kStarting);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(next(), "b");
  EXPECT_EQ(next(), "");
  EXPECT_EQ(order(), "c a b ");  // started is not ended
}

TEST_P(QueueTest, JobsOfWhoMayNoLongerSubmitWait) {
  User kim;
  kim.name = "kim";
  create_user(db(), kim);
  add("a");
  kim.disabled = true;
  change_user(db(), kim);
  EXPECT_EQ(next(), "");
  EXPECT_EQ(queue(db()).front().held_by, "its owner was disabled");
  kim.disabled = false;
  kim.role = Role::kViewer;
  change_user(db(), kim);
  EXPECT_EQ(next(), "");
  EXPECT_EQ(queue(db()).front().held_by, "its owner may no longer submit jobs");
  kim.role = Role::kMember;
  change_user(db(), kim);
  EXPECT_EQ(next(), "a");
}

TEST_P(QueueTest, AResumeCountsAgainstTheQuota) {
  User kim;
  kim.name = "kim";
  kim.quota.jobs_max = 1;
  create_user(db(), kim);
  const std::string first = add("first");
  cancel(db(), first, "");
  const std::string second = add("second");
  EXPECT_THROW(resume(db(), first), Refusal);
  cancel(db(), second, "");
  resume(db(), first);
  EXPECT_EQ(state(first), RunState::kPending);
}

TEST_P(QueueTest, WhoHadLessOfTheLastDayComesFirst) {
  const std::string first = add("first", "greedy");
  add("second", "greedy");
  const int64_t now = now_ms();
  start_next(db(), {kHost, kHost}, now - 3600 * 1000);
  end(first, Outcome::kSucceeded, 3600);
  add("third", "modest");
  EXPECT_EQ(order(), "third second ");
  // What is older than a day is forgotten.
  db().query("UPDATE attempts SET ended_ms = $1, started_ms = $2", now - 25 * 3600 * int64_t{1000},
             now - 26 * 3600 * int64_t{1000});
  EXPECT_EQ(order(), "second third ");
}

TEST_P(QueueTest, QuotasHoldOneUsersJobsAndNobodyElses) {
  User kim;
  kim.name = "kim";
  kim.quota = {.jobs_max = 3, .cores_max = 2, .core_hours_max = 1};
  create_user(db(), kim);
  Wishes two, three;
  two.resources.cores = 2;
  three.resources.cores = 3;
  EXPECT_EQ(refusal([&] { add("large", "kim", three); }), RefusalKind::kLimit);
  const std::string first = add("first", "kim", two);
  add("second");
  add("third");
  EXPECT_EQ(refusal([&] { add("fourth"); }), RefusalKind::kLimit);
  add("other", "pat", three);

  const int64_t now = now_ms();
  EXPECT_EQ(start_next(db(), {kHost, kHost}, now - 1800 * 1000)->job.name, "first");  // two cores for half an hour
  for (const auto& job : queue(db()))
    EXPECT_EQ(job.held_by.find("2 cores") != std::string::npos, job.name == "second" || job.name == "third")
        << job.name;
  EXPECT_EQ(next(), "other");
  EXPECT_EQ(next(), "");
  end(first, Outcome::kSucceeded, 1800);
  EXPECT_EQ(next(), "");  // an hour of cores is used up
  for (const auto& job : queue(db()))
    EXPECT_EQ(job.held_by.find("core hours") != std::string::npos, job.user == "kim") << job.name;
  kim.quota.core_hours_max = 1.1;
  change_user(db(), kim);
  EXPECT_EQ(next(), "second");
  add("fourth");
}

TEST_P(QueueTest, WhatDoesNotFitHoldsItsPlaceAgainstLowerPriorities) {
  Wishes large, low;
  large.priority = 1;
  large.resources.cores = 4;
  add("large", "kim", large);
  add("small", "kim", low);
  Wishes same;
  same.priority = 1;
  add("same", "kim", same);
  const Resources little{.cores = 2, .memory_mb = 8000, .gpus = 0};
  EXPECT_EQ(next(little), "same");
  EXPECT_EQ(next(little), "");
  EXPECT_EQ(next(), "large");
  EXPECT_EQ(next(little), "small");
  Wishes gpu;
  gpu.resources = {.cores = 1, .memory_mb = 9000, .gpus = 1};
  add("gpu", "kim", gpu);
  EXPECT_EQ(next(), "");
  const Resources larger{.cores = 1, .memory_mb = 9000, .gpus = 1};
  EXPECT_EQ(start_next(db(), {larger, larger}, now_ms())->job.name, "gpu");
}

TEST_P(QueueTest, DependenciesSucceedFirst) {
  const std::string a = add("a");
  Wishes after;
  after.depends_on = {a};
  after.priority = 9;
  const std::string b = add("b", "kim", after);
  EXPECT_EQ(queued_job(db(), b).wishes.depends_on, std::vector<std::string>{a});
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(next(), "");
  attempt_running(db(), a, 1, "attempt 1");
  EXPECT_EQ(next(), "");
  end(a, Outcome::kSucceeded);
  EXPECT_EQ(next(), "b");
}

TEST_P(QueueTest, WhatCanNeverStartIsCancelled) {
  const std::string a = add("a");
  Wishes on_a, on_b;
  on_a.depends_on = {a};
  const std::string b = add("b", "kim", on_a);
  on_b.depends_on = {b};
  const std::string c = add("c", "kim", on_b);
  next();
  end(a, Outcome::kFailed);
  EXPECT_EQ(state(b), RunState::kCancelled);
  EXPECT_EQ(state(c), RunState::kCancelled);
  EXPECT_NE(queued_job(db(), b).reason.find(a), std::string::npos);
  EXPECT_EQ(refusal([&] { add("d", "kim", on_a); }), RefusalKind::kState);
  EXPECT_EQ(refusal([&] { resume(db(), b); }), RefusalKind::kState);
  resume(db(), a);
  resume(db(), b);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(next(), "");
  on_b.depends_on = {"nobody"};
  EXPECT_EQ(refusal([&] { add("d", "kim", on_b); }), RefusalKind::kNotFound);
}

TEST_P(QueueTest, AnAttemptMayWaitElsewhereAndCountsForNothingUntilItRuns) {
  const std::string a = add("a", "kim");
  EXPECT_EQ(next(), "a");
  attempt_waits(db(), a, 1, "queued: Priority");
  EXPECT_EQ(state(a), RunState::kStarting);
  EXPECT_EQ(queued_job(db(), a).reason, "queued: Priority");
  const auto started = [&] { return db().query("SELECT started_ms FROM attempts").front().integer(0); };
  EXPECT_EQ(started(), 0);
  attempt_running(db(), a, 1, "attempt 1 on node07");
  EXPECT_EQ(queued_job(db(), a).reason, "attempt 1 on node07");
  EXPECT_GT(started(), 0);
  attempt_waits(db(), a, 1, "late");
  EXPECT_EQ(queued_job(db(), a).reason, "attempt 1 on node07");
  EXPECT_FALSE(attempt_has_ended(db(), a, 1));
  EXPECT_FALSE(attempt_has_ended(db(), "nobody", 1));
  EXPECT_EQ(end(a, Outcome::kSucceeded), RunState::kSucceeded);
  EXPECT_TRUE(attempt_has_ended(db(), a, 1));
}

TEST_P(QueueTest, ALostAttemptIsFollowedByAnotherWithinTheLimit) {
  Wishes wishes;
  wishes.attempts_max = 2;
  const std::string a = add("a", "kim", wishes);
  next();
  attempt_running(db(), a, 1, "attempt 1");
  EXPECT_EQ(state(a), RunState::kRunning);
  EXPECT_EQ(end(a, Outcome::kLost, 10), RunState::kRecovering);
  // Told twice: nothing happens twice.
  EXPECT_EQ(attempt_ended(db(), a, 1, Outcome::kLost, 10, "again"), RunState::kRecovering);
  EXPECT_EQ(queued_job(db(), a).seconds_used, 10);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(attempt_ended(db(), a, 1, Outcome::kFailed, 10, "late"), RunState::kStarting);
  attempt_running(db(), a, 1, "attempt 1");
  EXPECT_EQ(state(a), RunState::kStarting);
  EXPECT_EQ(end(a, Outcome::kLost, 10), RunState::kLost);
  EXPECT_EQ(next(), "");
  resume(db(), a);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(queued_job(db(), a).attempts, 3);
  EXPECT_EQ(end(a, Outcome::kPreempted), RunState::kRecovering);
  EXPECT_EQ(next(), "a");
  EXPECT_EQ(end(a, Outcome::kPreempted), RunState::kFailed);
}

TEST_P(QueueTest, TimeOfAllAttemptsIsLimited) {
  Wishes wishes;
  wishes.seconds_max = 100;
  const std::string a = add("a", "kim", wishes);
  next();
  EXPECT_EQ(end(a, Outcome::kPreempted, 60), RunState::kRecovering);
  next();
  EXPECT_EQ(end(a, Outcome::kPreempted, 40), RunState::kFailed);
  EXPECT_EQ(refusal([&] { resume(db(), a); }), RefusalKind::kState);
}

TEST_P(QueueTest, CancellingAndResuming) {
  const std::string a = add("a"), b = add("b");
  cancel(db(), a, "not needed");
  EXPECT_EQ(state(a), RunState::kCancelled);
  EXPECT_EQ(refusal([&] { cancel(db(), a, ""); }), RefusalKind::kState);
  EXPECT_EQ(next(), "b");
  attempt_running(db(), b, 1, "attempt 1");
  cancel(db(), b, "enough");
  EXPECT_TRUE(queued_job(db(), b).cancel_wished);
  EXPECT_EQ(state(b), RunState::kRunning);
  EXPECT_EQ(end(b, Outcome::kPreempted), RunState::kCancelled);
  EXPECT_EQ(queued_job(db(), b).reason, "enough");
  EXPECT_EQ(order(), "");
  resume(db(), b);
  EXPECT_FALSE(queued_job(db(), b).cancel_wished);
  EXPECT_EQ(next(), "b");
  EXPECT_EQ(end(b, Outcome::kSucceeded), RunState::kSucceeded);
  EXPECT_EQ(refusal([&] { resume(db(), b); }), RefusalKind::kState);
  EXPECT_EQ(refusal([&] { queued_job(db(), "nobody"); }), RefusalKind::kNotFound);
}

TEST_P(QueueTest, ASubmissionWithItsKeyIsMadeOnce) {
  const std::string a = add("a", "kim", {}, "key1");
  EXPECT_EQ(add("a", "kim", {}, "key1"), a);
  EXPECT_NE(add("a", "kim", {}, "key2"), a);
  EXPECT_NE(add("a", "pat", {}, "key1"), a);
  EXPECT_EQ(queue(db()).size(), 3u);
  EXPECT_EQ(queued_job(db(), a).job, "train: {}");
  Wishes none;
  none.resources.cores = 0;
  EXPECT_EQ(refusal([&] { add("b", "kim", none); }), RefusalKind::kInvalid);
}

TEST_P(QueueTest, DeletedAndForeignEndsAreRespected) {
  const std::string a = add("a"), b = add("b");
  set_run_deleted(db(), a, true);
  EXPECT_EQ(next(), "b");
  EXPECT_EQ(next(), "");
  RunChange finished;  // by a client within the job
  finished.state = RunState::kSucceeded;
  update_run(db(), b, finished);
  EXPECT_EQ(end(b, Outcome::kFailed), RunState::kFailed);
  EXPECT_EQ(order(), "a ");
}

TEST_P(QueueTest, AgentsGetTheJobsThatAreForThem) {
  Wishes wishes;
  wishes.place = kPilots;
  const auto for_agents = [&](const char* name, const char* user, int64_t cores, int64_t seconds,
                              std::vector<std::string> tags) {
    Wishes own = wishes;
    own.resources.cores = cores;
    own.seconds_max = seconds;
    own.tags = std::move(tags);
    add(name, user, own);
  };
  add("here");
  for_agents("large", "kim", 8, 0, {});
  for_agents("pats", "pat", 1, 0, {});
  for_agents("long", "kim", 1, 7200, {});
  for_agents("tagged", "kim", 1, 0, {"gpu", "site=T2"});
  for_agents("fits", "kim", 1, 600, {});
  EXPECT_EQ(queue(db()).size(), 6u);
  const auto taken = [&](Room room) {
    const auto attempt = start_next(db(), room, now_ms());
    return attempt ? attempt->job.name : "";
  };
  const Room of_kim{kHost, kHost, kPilots, "kim", {}, 3600};
  EXPECT_EQ(taken(of_kim), "fits");  // "large", which never fits there, is not in its way
  EXPECT_EQ(taken(of_kim), "");
  EXPECT_EQ(taken({kHost, kHost, kPilots, "kim", {"site=T2", "more", "gpu"}, 3600}), "tagged");
  EXPECT_EQ(taken({kHost, kHost, kPilots, "", {}, 3600}), "pats");
  EXPECT_EQ(taken({kHost, kHost, kPilots, "", {}, 0}), "long");
  EXPECT_EQ(next(), "here");
  // One that fits when nothing runs there holds its place.
  const Resources wide{16, 8000, 0}, rest{4, 8000, 0};
  for_agents("small", "kim", 1, 0, {});
  Wishes urgent = wishes;
  urgent.priority = 1;
  urgent.resources.cores = 8;
  add("urgent", "kim", urgent);
  EXPECT_EQ(taken({wide, rest, kPilots, "kim", {}, 0}), "");
  EXPECT_EQ(taken({wide, wide, kPilots, "kim", {}, 0}), "urgent");
}

TEST_P(QueueTest, PlacesAndTagsAreChecked) {
  Wishes wishes;
  for (const std::string& place : {std::string("the moon"), std::string("../moon"), std::string(101, 'm')}) {
    wishes.place = place;
    EXPECT_EQ(refusal([&] { add("a", "kim", wishes); }), RefusalKind::kInvalid) << place;
  }
  wishes.tags = {"gpu"};
  for (const char* place : {kOwnHost, "farm"}) {
    wishes.place = place;
    EXPECT_EQ(refusal([&] { add("a", "kim", wishes); }), RefusalKind::kInvalid) << place;
  }
  wishes.place = kPilots;
  for (const char* tag : {"", "a b", "a\n", "\xc3\xa9"}) {
    wishes.tags = {tag};
    EXPECT_EQ(refusal([&] { add("a", "kim", wishes); }), RefusalKind::kInvalid) << tag;
  }
}

}  // namespace
}  // namespace linac::catalog
