#include "linac/base/job/run_history.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "linac/base/base/error.h"
#include "linac/physics/report/run/report.h"
#include "linac/physics/report/run/test_run.h"

namespace linac::report {
namespace {

TEST(RunRecord, StartedAgain) {
  TestRun run;
  run.view(100, 1, 0, 2, {member("n1", 1, 4), member("n1", 2, 4)});
  run.view(102, 2, 5, 0.5, {member("n1", 1, 8)}, "lost");
  run.steps(1, 15);
  run.workers(110, 20, {account("n1", 1, {{"compute", 8}})});  // killed; its steps from 16 on were dropped
  run.view(500, 1, 15, 1, {member("n1", 1, 8)});               // the same process id again
  run.steps(16, 30);
  run.end(510, 30, "interrupted", {account("n1", 1, {{"compute", 9}})});
  const RunReport report = run.report();
  ASSERT_EQ(report.record.starts.size(), 2U);
  EXPECT_FALSE(report.record.starts[0].ended);
  EXPECT_DOUBLE_EQ(report.wall_s, 12 + 11) << "without the time between";
  EXPECT_EQ(report.workers.size(), 3U);
  EXPECT_EQ(report.steps_redone, 5);
  EXPECT_EQ(report.changes.size(), 1U) << "a start is no change";
  EXPECT_DOUBLE_EQ(report.starting_s, 2 * 2 + 1);
  EXPECT_EQ(report.record.steps, 30);
  EXPECT_FALSE(report.cost);
  EXPECT_TRUE(to_json(report)["starts"][0]["end"].is_null());
}

TEST(RunRecord, AWriterThatFailsIsNotTheEnd) {
  TestRun run;
  run.view(100, 1, 0, 0, {member("n1", 1, 1), member("n2", 2, 1)});
  run.end(104, 4, "failed", {account("n1", 1, {{"compute", 3}})});
  run.view(105, 2, 4, 0.5, {member("n2", 2, 2)}, "rank 0: no space left");
  run.workers(110, 8, {account("n2", 2, {{"compute", 5}})});
  const RunReport report = run.report();
  ASSERT_EQ(report.record.starts.size(), 1U);
  EXPECT_FALSE(report.record.starts[0].ended) << "it goes on";
  EXPECT_EQ(report.workers[0].reason, "rank 0: no space left");
  EXPECT_DOUBLE_EQ(report.workers[0].left(), 104.5);
}

TEST(RunRecord, ComesBackAfterAHalt) {
  TestRun run;
  run.view(100, 1, 0, 0, {member("n1", 1, 1), member("n2", 2, 1)});
  run.view(110, 2, 10, 1, {member("n1", 1, 2)}, "silent");
  run.view(120, 3, 20, 1, {member("n1", 1, 1), member("n2", 2, 1)}, "due");
  run.end(130, 30, "succeeded", {account("n1", 1, {{"compute", 30}}), account("n2", 2, {{"compute", 30}}, 0, 40)});
  const RunReport report = run.report();
  ASSERT_EQ(report.workers.size(), 2U);
  EXPECT_EQ(report.workers[1].spans.size(), 2U);
  EXPECT_EQ(report.workers[1].departure, Departure::kStayed);
  EXPECT_EQ(report.workers[1].steps, 20);
  EXPECT_DOUBLE_EQ(report.workers[1].time.seconds, 30) << "it was occupied all the time";
  EXPECT_EQ(report.losses.number, 1);
}

TEST(RunRecord, RunJsonKnowsTheEndToo) {
  TestRun run;
  run.view(1795345000, 1, 0, 0, {member("n1", 1, 4)});
  const Json json{{"name", "<demo>"},
                  {"status", "succeeded"},
                  {"updated", "2026-11-22T10:57:41Z"},
                  {"global_step", 9},
                  {"time_by_worker", Json::array({account("n1", 1, {{"compute", 30}})})}};
  run.add("run.json", json.dump());
  const RunReport report = run.report();
  EXPECT_DOUBLE_EQ(report.wall_s, 61);
  EXPECT_DOUBLE_EQ(report.time.computing(), 30);
  EXPECT_EQ(to_html(report, {}).find("<demo>"), std::string::npos);
}

TEST(RunRecord, DamagedLinesAreCounted) {
  TestRun run;
  run.view(100, 1, 0, 0, {member("n1", 1, 4)});
  run.add("metrics.jsonl", "{\"kind\": \"step\", \"glo\xff\n");
  run.line(
      {{"kind", "workers"}, {"time", "NaN"}, {"global_step", 3}, {"workers", Json::array({account("n1", 1, {})})}});
  run.view(101, 2, 0, 0, {});
  run.steps(1, 2);
  run.steps(2, 2);
  run.steps(5, 5);
  run.workers(104, 5, {account("n1", 1, {{"compute", 3}, {"a new phase", 0.5}})});
  run.add("metrics.jsonl", "{\"kind\": \"step\", \"global_st");
  const RunReport report = run.report();
  EXPECT_EQ(report.record.damaged_lines, 3);
  EXPECT_TRUE(report.record.last_line_cut);
  EXPECT_EQ(report.record.steps_twice, 1);
  EXPECT_EQ(report.record.steps_missing, 2);
  EXPECT_DOUBLE_EQ(report.time.efficiency(), 0.75);
  EXPECT_DOUBLE_EQ(report.time.waiting, 1) << "what it does not know by name";
  EXPECT_EQ(report.remarks.size(), 5U) << "goes on, twice, a gap, damaged, cut";
}

TEST(RunRecord, GapsAreTold) {
  TestRun run;
  run.view(100, 1, 4, 0, {member("n1", 1, 4)});  // of a branch
  run.steps(5, 6);
  run.steps(9, 9);
  run.line({{"kind", "gap"}, {"first", 10}, {"last", 12}, {"steps", 3}, {"global_step", 12}});
  const RunReport report = run.report();
  EXPECT_EQ(report.record.steps_missing, 5);
  const std::string told = "The record has a gap: the lines of steps 7 to 8, steps 10 to 12 are lost.";
  EXPECT_EQ(std::count(report.remarks.begin(), report.remarks.end(), told), 1);
}

TEST(RunRecord, WhatAuditsFoundIsTold) {
  TestRun run;
  run.view(100, 1, 0, 0, {member("n1", 1, 2), member("n2", 2, 2)});
  run.steps(1, 7);
  run.line({{"kind", "audit"},
            {"time", 105},
            {"global_step", 7},
            {"clean_step", 4},
            {"wrong", {{{"rank", 1}, {"host", "n2"}, {"pid", 2}, {"replicas", 2}}}},
            {"suspects", Json::array()},
            {"what", "replica 3 differs from the losses on"}});
  run.line({{"kind", "audit"},
            {"time", 106},
            {"global_step", 8},
            {"suspects", {member("n1", 1, 2), member("n3", 3, 2)}},
            {"what", "replica 0 differs"}});
  const RunReport report = run.report();
  const auto is_told = [&](const std::string& text) {
    return std::count(report.remarks.begin(), report.remarks.end(), text) == 1;
  };
  EXPECT_TRUE(
      is_told("Audit after step 7: rank 1 (n2, process 2) computes wrongly: replica 3 differs from the losses "
              "on; an audit had last found all workers right behind step 4."));
  EXPECT_TRUE(
      is_told("Audit after step 8: of rank 0 (n1, process 1), rank 0 (n3, process 3) at least one computes "
              "wrongly, and nobody can tell which: replica 0 differs; no audit of this start had found all "
              "workers right."));
}

TEST(RunRecord, ErrorsSayWhatToDo) {
  TestRun run;
  for (const auto& path : {run.root.path(), run.root / "none"}) {
    try {
      job::read_run_record(path);
      FAIL() << path;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUser);
      EXPECT_NE(std::string(error.what()).find("folder of a run"), std::string::npos) << error.what();
    }
  }
  run.steps(1, 1);
  {
    TestRun newer;
    newer.line({{"kind", "view"}, {"record", 2}});
    EXPECT_THROW(newer.report(), Error);
  }
  const RunReport report = run.report();  // no word of workers
  EXPECT_EQ(report.remarks.size(), 1U);
  EXPECT_TRUE(draw(report).empty());
  EXPECT_NE(to_html(report, {}).find("Nothing is known"), std::string::npos);
  EXPECT_TRUE(to_json(report)["efficiency"].is_null());
}

}  // namespace
}  // namespace linac::report
