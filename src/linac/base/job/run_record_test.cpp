#include "linac/base/job/run_record.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "linac/base/base/error.h"

namespace linac::job {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

WorkerAccount some_account() {
  WorkerAccount account;
  account.host = "n1";
  account.pid = 7;
  account.phases = {{Phase::kCompute, {1.5, 2.5}}, {Phase::kInput, {0.25, 0}}};
  account.cpu_s = 3;
  account.sent_bytes = 100;
  account.sent_messages = 2;
  account.exchange_s = 0.5;
  return account;
}

ReadLine read(const std::string& text) {
  return LineReader("runs/a/metrics.jsonl").read(text);
}

// The very bytes: others read them since before there were versions.
TEST(RunRecord, LinesAreWrittenAsEver) {
  StepLine step;
  step.epoch = 0;
  step.step = 1;
  step.global_step = 1;
  step.lr = 0.001;
  step.loss = {{"d_real/total", 2}, {"d_real/angle", kNan}, {"loss", 0.5}};
  EXPECT_EQ(to_text(step),
            R"({"epoch":0,"global_step":1,"kind":"step","loss":{"d_real":{"angle":"NaN","total":2.0},"loss":0.5},)"
            R"("lr":0.001,"step":1})");
  EpochLine epoch;
  epoch.epoch = 0;
  epoch.global_step = 4;
  epoch.train = {{"loss", 1}};
  epoch.seconds = 2;
  epoch.rate = {"showers", 9};
  EXPECT_EQ(to_text(epoch),
            R"({"epoch":0,"global_step":4,"kind":"epoch","physics":{},"seconds":2.0,"showers_per_s":9.0,)"
            R"("signs_of_collapse":[],"test":{},"train":{"loss":1.0}})");
  ViewLine view;
  view.time = 100.5;
  view.global_step = 0;
  view.view = 1;
  view.members.resize(1);
  EXPECT_EQ(to_text(view),
            R"({"global_step":0,"kind":"view","members":[{"host":"","pid":0,"rank":0,"replicas":0}],"record":1,)"
            R"("seconds":0.0,"time":100.5,"view":1,"why":""})");
  EXPECT_EQ(to_text(RollbackLine{0, 3, 1, "NaN", "step 4"}),
            R"({"epoch":0,"global_step":3,"kind":"rollback","rollbacks":1,"what":"NaN","where":"step 4"})");
  EndLine end;
  end.time = 7;
  end.global_step = 4;
  end.status = "succeeded";
  end.workers = {some_account()};
  const std::string account =
      R"([{"cpu_s":3.0,"exchange_s":0.5,"host":"n1","phases":{"compute":{"cpu_s":2.5,"wall_s":1.5},)"
      R"("input":{"cpu_s":0.0,"wall_s":0.25}},"pid":7,"sent_bytes":100,"sent_messages":2}])";
  EXPECT_EQ(to_text(end),
            R"({"global_step":4,"kind":"end","status":"succeeded","time":7.0,"workers":)" + account + "}");
}

TEST(RunRecord, WhatIsWrittenIsReadAgain) {
  WorkerAccount account = some_account();
  account.rank = 3;
  account.pace_s = 0.125;
  WorkersLine workers;
  workers.time = 5;
  workers.global_step = 2;
  workers.view = 1;
  account.steps = StepTime{.steps = 3, .wall_s = 2, .input_s = 0.5, .networks = {{.network = "g", .sum_s = 0.25}}};
  account.reading = ToldReading{.store_bytes = 5, .worker_bytes = 6, .given_bytes = 7, .failed = 8};
  workers.workers = {account};
  StepLine step;
  step.global_step = 9;
  step.loss = {{"a/total", -std::numeric_limits<double>::infinity()}, {"b", 1e-300}};
  EpochLine epoch;
  epoch.physics = {{"response.mean", 0.5}};
  epoch.signs_of_collapse = {"\"empty\""};
  epoch.rate = {"events", 3.5};
  ViewLine view;
  view.members = {ViewMember{1, 2, 3, "h"}};
  const std::vector<RunLine> lines{step,
                                   epoch,
                                   RollbackLine{1, 2, 3, "what", "where"},
                                   RoundLine{1, 2, 3, 4, 0.5, 6, 7, 8, 9, {0, 2}, 1.5, 3},
                                   GapLine{3, 5, 2, 9},
                                   view,
                                   workers,
                                   EndLine{}};
  for (const RunLine& line : lines) {
    const ReadLine back = read(to_text(line));
    EXPECT_EQ(back.state, LineState::kWhole) << to_text(line);
    EXPECT_EQ(back.line.index(), line.index());
    EXPECT_EQ(to_text(back.line), to_text(line));
  }
  const auto found = std::get<WorkersLine>(read(to_text(workers)).line);
  EXPECT_EQ(found.workers.at(0).time_in(Phase::kCompute).wall_s, 1.5);
  EXPECT_EQ(found.workers.at(0).time_in(Phase::kTest).wall_s, 0);
  EXPECT_EQ(read_account(to_text(account)).rank, 3);
  EXPECT_EQ(read_account(to_text(account)).reading.value().worker_bytes, 6);
  EXPECT_EQ(read_account(to_text(account)).steps.value().of("g").sum_s, 0.25);
}

TEST(RunRecord, WhatIsNotKnownIsPassedOver) {
  const ReadLine other = read(R"({"kind":"weather","global_step":5,"sun":{"deep":[1]}})");
  EXPECT_EQ(other.state, LineState::kWhole);
  EXPECT_EQ(std::get<OtherLine>(other.line).kind, "weather");
  EXPECT_EQ(global_step_of(other.line), 5);
  const ReadLine step = read(R"({"kind":"step","global_step":5,"colour":"red","lr":{}})");
  EXPECT_EQ(step.state, LineState::kWhole);
  EXPECT_FALSE(std::get<StepLine>(step.line).lr);
  const ReadLine workers =
      read(R"({"kind":"workers","time":1,"global_step":1,"workers":[{"host":"a","pid":1,"cpu_s":1,"sent_bytes":0,)"
           R"("sent_messages":0,"exchange_s":0,"phases":{"sleep":{"wall_s":1},"compute":{"wall_s":2}}}]})");
  EXPECT_EQ(workers.state, LineState::kWhole);
  EXPECT_EQ(std::get<WorkersLine>(workers.line).workers.at(0).phases.size(), 1u);
}

TEST(RunRecord, DamageIsToldAndTheRestIsRead) {
  for (const char* none : {"", "[1]", "7", "{\"kind\":\"st", "\xff\xfe", "{} {}"})
    EXPECT_EQ(read(none).state, LineState::kNone) << none;
  for (const char* damaged :
       {"{}", R"({"kind":7})", R"({"kind":"step"})", R"({"kind":"step","global_step":1e300})",
        R"({"kind":"workers","time":"NaN","global_step":1,"workers":[]})", R"({"kind":"end","time":1,"global_step":1})",
        R"({"kind":"view","time":1,"global_step":1,"view":1,"why":"","seconds":0,"members":[{"host":"a"},7]})"})
    EXPECT_EQ(read(damaged).state, LineState::kDamaged) << damaged;
  const auto view = std::get<ViewLine>(read(R"({"kind":"view","time":5,"global_step":3,"members":[{},7]})").line);
  EXPECT_EQ(view.global_step, 3);
  EXPECT_EQ(view.members.size(), 1u);
  EXPECT_EQ(time_of(view), 5);
}

TEST(RunRecord, MeasuresOfStepsOnlyWhereTheyAreWanted) {
  const std::string step = R"({"kind":"step","global_step":1,"loss":{"loss":2}})";
  const std::string epoch = R"({"kind":"epoch","epoch":1,"train":{"loss":2}})";
  const LineReader reader("x", Wanted::kNoStepMeasures);
  EXPECT_TRUE(std::get<StepLine>(reader.read(step).line).loss.empty());
  EXPECT_EQ(std::get<EpochLine>(reader.read(epoch).line).train.at("loss"), 2);
}

TEST(RunRecord, OldOnesAreReadAndNewerOnesAreRefused) {
  const ReadLine old = read(
      R"({"kind":"view","time":1,"global_step":0,"view":1,"why":"","seconds":0,"members":[{"host":"","pid":1,"replicas":1}]})");
  EXPECT_EQ(old.state, LineState::kWhole);
  EXPECT_FALSE(std::get<ViewLine>(old.line).record);
  for (const char* newer : {R"({"kind":"view","record":2})", R"({"record":1e30})"}) {
    try {
      read(newer);
      FAIL() << newer;
    } catch (const Error& error) {
      EXPECT_EQ(error.code(), ErrorCode::kUser);
      const std::string text = error.what();
      EXPECT_NE(text.find("runs/a/metrics.jsonl"), std::string::npos) << text;
      EXPECT_NE(text.find("use that linac"), std::string::npos) << text;
    }
  }
  EXPECT_THROW(read_summary(R"({"record":2})", "run.json"), Error);
  EXPECT_EQ(read(R"({"kind":"view","record":"x"})").state, LineState::kDamaged);
}

TEST(RunRecord, WhatStandsWhenARunGoesOn) {
  StepLine step;
  step.global_step = 5;
  EXPECT_TRUE(stands_before(step, 5, 1));
  EXPECT_FALSE(stands_before(step, 4, 1));
  EpochLine epoch;
  epoch.epoch = 0;
  EXPECT_TRUE(stands_before(epoch, 5, 1));
  EXPECT_FALSE(stands_before(epoch, 5, 0));
  EXPECT_TRUE(stands_before(ViewLine{}, 0, 0));
  EXPECT_TRUE(stands_before(EndLine{}, 0, 0));
}

TEST(RunRecord, SummaryComesBack) {
  RunSummary summary;
  summary.name = "demo";
  summary.status = "failed";
  summary.host = HostFacts{"h", 4, "a processor"};
  summary.outline = TrainingOutline{6, 1e9, {OutlinedUpdate{0.25, 20, {OutlinedPart{4096, 0.125}}}}};
  summary.workers = 2;
  summary.seed = UINT64_MAX;
  summary.data = {{"train", {DataFile{"/d/a.h5", "hdf5", "abc", 5, 100, 4}, DataFile{"b", "parquet", "d", 1, 1, {}}}},
                  {"test", {}}};
  summary.former_data = {FormerData{40, {{"train", {DataFile{"/d/a.h5", "hdf5", "old", 4, 90, {}}}}}}};
  summary.folder = "/home/me";
  summary.classes = {{"kind", {"QCD", "ttbar"}}};
  summary.best = BestEpoch{0, "loss", kNan};
  summary.epochs = {EpochPace{0, 1.5, {"showers", 4}}};
  summary.error = RunError{"data error", "[data] bad", 3};
  summary.time_by_worker = std::vector<WorkerAccount>{some_account()};
  const std::string text = to_text(summary);
  const auto json = nlohmann::json::parse(text);
  EXPECT_EQ(json.at("record"), 1);
  EXPECT_EQ(json.at("epochs").at(0).at("showers_per_s"), 4);
  EXPECT_EQ(json.at("best").at("value"), "NaN");
  EXPECT_TRUE(text.ends_with("}\n"));
  const auto back = read_summary(text, "run.json");
  ASSERT_TRUE(back);
  EXPECT_EQ(to_text(*back), text);
  EXPECT_FALSE(read_summary("[]", "run.json"));
  EXPECT_FALSE(read_summary("", "run.json"));
  const auto old =
      read_summary(R"({"name":"a","data":{"train":[{"url":1},7],"test":7},"host":3,"best":[]})", "run.json");
  ASSERT_TRUE(old);
  EXPECT_FALSE(old->record || old->error || old->time_by_worker);
  EXPECT_EQ(old->data.at("train").size(), 1u);
}

}  // namespace
}  // namespace linac::job
