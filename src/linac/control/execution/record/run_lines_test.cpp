#include "linac/control/execution/record/run_lines.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/refusal.h"
#include "linac/base/job/step_gaps.h"
#include "linac/control/execution/record/run_facts.h"

namespace linac::execution {
namespace {

std::string step(int64_t number, double loss = 0.5) {
  return "{\"kind\":\"step\",\"epoch\":0,\"step\":1,\"global_step\":" + std::to_string(number) +
         ",\"lr\":0.001,\"loss\":{\"loss\":" + std::to_string(loss) + "}}\n";
}
std::string view(double time, int64_t number) {
  return "{\"kind\":\"view\",\"time\":" + std::to_string(time) + ",\"global_step\":" + std::to_string(number) +
         ",\"members\":[{},{}]}\n";
}

std::vector<int64_t> steps_of(const ReadLines& read, const std::string& key) {
  std::vector<int64_t> steps;
  for (const auto& [name, point] : read.points)
    if (name == key) steps.push_back(point.step);
  return steps;
}

TEST(RunLines, BecomePointsWithTimesBetweenTheMoments) {
  const std::string text = view(1000, 0) + step(1) + step(2) + step(3) + view(1040, 4);
  const ReadLines read = read_run_lines({}, 0, text, 0);
  EXPECT_EQ(steps_of(read, "loss"), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(steps_of(read, "learning_rate"), (std::vector<int64_t>{1, 2, 3}));
  EXPECT_EQ(steps_of(read, "workers"), (std::vector<int64_t>{0, 4}));
  for (const auto& [key, point] : read.points)
    if (key == "loss") {
      EXPECT_EQ(point.time_ms, 1000'000 + point.step * 10'000);
    }
  EXPECT_EQ(read.after.offset, static_cast<int64_t>(text.size()));
  EXPECT_EQ(read.damaged, 0);
}

TEST(RunLines, AuditsAreToldOnceAndAreFew) {
  const auto audit = [](int64_t number) {
    return fmt::format(
        R"({{"kind":"audit","time":{},"global_step":{},"clean_step":1,"wrong":[{{"host":"n04","pid":1,"replicas":1}}]}})"
        "\n",
        1000 + number, number);
  };
  const ReadLines read = read_run_lines({}, 0, view(1000, 0) + step(1) + audit(1), 0);
  ASSERT_EQ(read.audits.size(), 1U);
  EXPECT_EQ(read.audits[0].wrong.at(0).host, "n04");
  EXPECT_TRUE(read_run_lines(read.after, 0, view(1000, 0) + step(1) + audit(1), 0).audits.empty()) << "read anew";
  std::string many;
  for (int64_t i = 1; i < 1000; ++i) many += audit(i);
  EXPECT_EQ(read_run_lines({}, 0, many, 0).audits.size(), kAuditsMax);
}

TEST(RunLines, WhatTheFileHasLostIsKept) {
  const auto gap = [](int64_t first, int64_t last) {
    return fmt::format("{{\"kind\":\"gap\",\"first\":{},\"last\":{},\"steps\":{},\"global_step\":{}}}\n", first, last,
                       last - first + 1, last);
  };
  const std::string text = step(1) + step(4) + gap(2, 3) + gap(7, 7) + gap(9, 8) + gap(-1, 5);
  const ReadLines read = read_run_lines({}, 0, text, 1);
  EXPECT_EQ(lost_steps_text(read.after.lost), "2-3,7");
  EXPECT_EQ(RunCursor::decoded(read.after.encoded()), read.after);
  const ReadLines more = read_run_lines(read.after, read.after.offset, gap(11, 12), 1);
  EXPECT_EQ(lost_steps_text(more.after.lost), "2-3,7,11-12");
  EXPECT_TRUE(read_run_lines(more.after, 0, step(1), 1).after.lost.empty());  // another file
  std::string many;
  for (int64_t i = 0; i < 1000; ++i) many += gap(10 * i, 10 * i + 1);
  const auto lost = read_run_lines({}, 0, many, 1).after.lost;
  EXPECT_EQ(lost.size(), job::kGapsMax);
  EXPECT_EQ(lost.back().last, 9991);
  EXPECT_EQ(RunCursor::decoded(R"([[[0,4]],[],0.0,10,0,0.0,0])").steps.at(0), 4);  // of an older linac
}

TEST(RunLines, PartsEpochsAndWorkersAreNamedAsInTensorBoard) {
  const ReadLines read = read_run_lines({}, 0,
                                        R"({"kind":"step","global_step":7,"loss":{"d_real":{"total":2,"angle":"NaN"}}}
{"kind":"epoch","epoch":0,"global_step":7,"train":{"accuracy":0.5},"test":{"d_real":{"total":1,"angle":3}},"physics":{"fpd":4},"seconds":2,"showers_per_s":9}
{"kind":"workers","time":50,"global_step":7,"workers":[{"phases":{"compute":{"wall_s":1}},"cpu_s":2},{"phases":{"compute":{"wall_s":3}},"cpu_s":4}]}
)",
                                        60'000);
  std::map<std::string, double> values;
  for (const auto& [key, point] : read.points) values[key] = point.value;
  EXPECT_EQ(values.at("loss/d_real"), 2);
  EXPECT_TRUE(std::isnan(values.at("parts/d_real/angle")));
  EXPECT_EQ(values.at("train/accuracy"), 0.5);
  EXPECT_EQ(values.at("test/d_real"), 1);
  EXPECT_EQ(values.at("physics/fpd"), 4);
  EXPECT_EQ(values.at("showers_per_s"), 9);
  EXPECT_EQ(values.at("epoch"), 1);
  EXPECT_EQ(values.at("time/compute"), 4);
  EXPECT_EQ(values.at("time/cpu"), 6);
}

TEST(RunLines, EpochsOfABranchGoOnFromThoseOfTheRunBefore) {
  const ReadLines read = read_run_lines({}, 0,
                                        R"({"kind":"epoch","epoch":4,"global_step":50,"train":{},"test":{},"physics":{}}
{"kind":"epoch","epoch":5,"global_step":70,"train":{},"test":{},"physics":{}}
)",
                                        0);
  EXPECT_EQ(steps_of(read, "epoch"), (std::vector<int64_t>{50, 70}));
  EXPECT_EQ(read.points.back().point.value, 6);
}

TEST(RunLines, InPiecesAreTheSameWhole) {
  std::string text = view(1000, 0);
  for (int64_t i = 1; i <= 300; ++i) text += step(i);
  text += view(1040, 301);
  const ReadLines whole = read_run_lines({}, 0, text, 1'050'000);
  const PieceMax most{50, 3};
  RunCursor cursor;
  std::vector<int64_t> losses;
  int pieces = 0;
  for (int64_t offset = 0; offset < static_cast<int64_t>(text.size()); ++pieces) {
    const ReadLines piece =
        read_some_lines(cursor, offset, std::string_view(text).substr(static_cast<size_t>(offset)), 1'050'000, most);
    EXPECT_TRUE(piece.within(most));
    for (const int64_t found : steps_of(piece, "loss")) losses.push_back(found);
    EXPECT_GT(piece.after.offset, offset);
    offset = piece.after.offset;
    cursor = piece.after;
  }
  EXPECT_GT(pieces, 10);
  EXPECT_EQ(losses, steps_of(whole, "loss"));
  EXPECT_EQ(cursor, whole.after);
}

TEST(RunLines, ALineThatIsTooMuchComesAlone) {
  std::string many = "{\"kind\":\"step\",\"epoch\":0,\"step\":1,\"global_step\":2,\"lr\":0.001,\"loss\":{\"loss\":1";
  for (int i = 0; i < 30; ++i) many += ",\"m" + std::to_string(i) + "\":1";
  many += "}}\n";
  const std::string text = step(1) + many + step(3);
  const ReadLines first = read_some_lines({}, 0, text, 0, {20, 20});
  EXPECT_EQ(first.after.offset, static_cast<int64_t>(step(1).size()));
  const ReadLines second =
      read_some_lines(first.after, first.after.offset, std::string_view(text).substr(step(1).size()), 0, {20, 20});
  EXPECT_FALSE(second.within({20, 20}));
  EXPECT_EQ(second.after.offset, static_cast<int64_t>(step(1).size() + many.size()));
  EXPECT_TRUE(read_some_lines({}, 0, "", 0, {20, 20}).points.empty());
}

TEST(RunLines, AStepCountsOnceHoweverOftenItIsRead) {
  const std::string first = view(1000, 0) + step(1) + step(2) + step(3);
  const ReadLines read = read_run_lines({}, 0, first, 0);
  EXPECT_TRUE(read_run_lines(read.after, 0, first, 0).points.empty());
  // Resumed from the checkpoint behind step 1: the lines after it are written again.
  const ReadLines again =
      read_run_lines(read.after, 0, view(1000, 0) + step(1) + view(2000, 1) + step(2) + step(3) + step(4), 0);
  EXPECT_EQ(steps_of(again, "loss"), (std::vector<int64_t>{4}));
  EXPECT_EQ(steps_of(again, "workers"), (std::vector<int64_t>{1}));
}

TEST(RunLines, StepsAfterARollbackAreOthers) {
  const std::string rollback = "{\"kind\":\"rollback\",\"epoch\":0,\"global_step\":1,\"rollbacks\":1}\n";
  const ReadLines read = read_run_lines({}, 0, view(1000, 0) + step(1) + step(2), 0);
  const ReadLines after = read_run_lines(read.after, 0, view(1000, 0) + step(1) + rollback + step(2) + step(3), 0);
  EXPECT_EQ(steps_of(after, "loss"), (std::vector<int64_t>{2, 3}));
  EXPECT_TRUE(read_run_lines(after.after, 0, view(1000, 0) + step(1) + rollback + step(2) + step(3), 0).points.empty());
}

TEST(RunLines, ContinueWhereTheLastOnesEnded) {
  const ReadLines read = read_run_lines({}, 0, step(1), 5000);
  const RunCursor kept = RunCursor::decoded(read.after.encoded());
  EXPECT_EQ(kept, read.after);
  EXPECT_EQ(steps_of(read_run_lines(kept, kept.offset, step(2), 6000), "loss"), (std::vector<int64_t>{2}));
  EXPECT_THROW(read_run_lines(kept, kept.offset + 1, step(2), 6000), Refusal);
}

TEST(RunLines, WhatIsNoLineIsPassedOver) {
  const std::string text =
      "garbage\n[1]\n{\"kind\":\"step\",\"global_step\":1e300,\"loss\":{}}\n{\"kind\":7}\n"
      "{\"kind\":\"step\",\"global_step\":2,\"loss\":[1,{}]}\n{\"kind\":\"view\",\"time\":\"NaN\",\"global_step\":1}\n"
      "{\"kind\":\"workers\",\"time\":5,\"global_step\":1,\"workers\":{\"a\":1}}\n" +
      step(3);
  const ReadLines read = read_run_lines({}, 0, text, 0);
  EXPECT_EQ(read.damaged, 2);
  EXPECT_EQ(steps_of(read, "loss"), (std::vector<int64_t>{3}));
  EXPECT_EQ(whole_lines("a\nb\nc"), "a\nb\n");
  EXPECT_EQ(whole_lines("abc"), "");
  EXPECT_EQ(RunCursor::decoded("[1]"), RunCursor());
}

TEST(RunLines, OfANewerLinacAreRefused) {
  EXPECT_THROW(read_run_lines({}, 0, "{\"kind\":\"view\",\"record\":2}\n", 0), Refusal);
}

TEST(RunFacts, JobAndRunJson) {
  const auto parameters = parameters_of("name: a\ntrain: {epochs: 3, optimizer: {lr: 1e-3}}\ndata: {train: [x, y]}\n");
  EXPECT_EQ(parameters.at("train.optimizer.lr"), "1e-3");
  EXPECT_EQ(parameters.at("data.train"), "[x, y]");
  EXPECT_TRUE(parameters_of("- no\n- map\n").empty());
  EXPECT_TRUE(parameters_of("a: [").empty());
  const RunFacts facts = facts_of(
      R"({"linac":"1.2","host":{"name":"h"},"workers":2,"status":"failed","error":{"message":"[data] bad"},
          "data":{"train":[{"url":"/d/a.h5","fingerprint":"abc","events":5},{"url":1}],"test":7}})");
  EXPECT_EQ(facts.tags.at("linac.version"), "1.2");
  EXPECT_EQ(facts.tags.at("linac.host"), "h");
  EXPECT_EQ(facts.tags.at("linac.workers"), "2");
  EXPECT_EQ(facts.error, "[data] bad");
  ASSERT_EQ(facts.inputs.size(), 1u);
  EXPECT_EQ(facts.inputs[0].name, "a.h5");
  EXPECT_EQ(facts.inputs[0].digest, "abc");
  EXPECT_TRUE(facts_of("[]").tags.empty());
}

TEST(RunFacts, ReasonIsTheLastErrorOfTheLog) {
  EXPECT_EQ(reason_in_log("12:00:00 E [data] first\nbar 10%\rbar 20%\n12:00:01 E [data] second\nlater\n"),
            "[data] second");
  EXPECT_EQ(reason_in_log("one\n\xff two\n\n"), "? two");
  EXPECT_EQ(reason_in_log(""), "");
  EXPECT_EQ(cleaned("a\nb\xc3\xa9", 4), "a b");
  EXPECT_EQ(cleaned("a\xc3", 4), "a?");
}

}  // namespace
}  // namespace linac::execution
