#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <thread>

#include "linac/base/base/atomic_file.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/base/base/test_errors.h"
#include "linac/control/study/journal.h"
#include "linac/control/study/optuna/file.h"

namespace linac::study {
namespace {

const std::string kStudy = R"({"op_code":0,"worker_id":"w-1","study_name":"first","directions":[2]})"
                           "\n";
const std::string kFloat = R"({\"name\": \"FloatDistribution\", \"attributes\": {\"step\": null, \"low\": 0.0, )"
                           R"(\"high\": 1.0, \"log\": false}})";
const std::string kChoice =
    R"({\"name\": \"CategoricalDistribution\", \"attributes\": {\"choices\": [\"a\", 3, null]}})";

std::string begun() {
  return R"({"op_code":4,"worker_id":"w-1","study_id":0,"datetime_start":"2026-11-27T06:41:33.5+00:00"})"
         "\n";
}
std::string set(int trial, const std::string& name, double value, const std::string& distribution) {
  return R"({"op_code":5,"worker_id":"w-1","trial_id":)" + std::to_string(trial) + R"(,"param_name":")" + name +
         R"(","param_value_internal":)" + std::to_string(value) + R"(,"distribution":")" + distribution + "\"}\n";
}
std::string ended(int trial, int state, const std::string& values) {
  return R"({"op_code":6,"worker_id":"w-1","trial_id":)" + std::to_string(trial) + R"(,"state":)" +
         std::to_string(state) + R"(,"values":)" + values + R"(,"datetime_complete":"2026-11-27T07:41:34.5+01:00"})" +
         "\n";
}

GivenStudy read(const std::string& text) {
  return from_optuna(parse_optuna_file(text, "o.log").at(0));
}

TEST(Optuna, TrialsComeAsTheyWere) {
  const GivenStudy given =
      read(kStudy + begun() + set(0, "x", 0.5, kFloat) + set(0, "c", 1, kChoice) +
           R"({"op_code":7,"worker_id":"w","trial_id":0,"step":3,"intermediate_value":NaN})" + "\n" +
           ended(0, 1, "[Infinity]") + begun() + set(1, "x", 0.25, kFloat) + set(1, "c", 2, kChoice) +
           ended(1, 2, "null") + begun() + set(2, "x", 0.1, kFloat) + set(2, "c", 0, kChoice) + ended(2, 3, "null") +
           begun() + set(3, "x", 0.2, kFloat) + "{\"op_code\":6,\"tri");
  ASSERT_EQ(given.trials.size(), 3U);
  EXPECT_EQ(given.trials[0].point, (tune::Point{0.5, 1}));
  EXPECT_TRUE(std::isinf(given.trials[0].values.at(0)) && std::isnan(given.trials[0].curve.at(0).second));
  EXPECT_DOUBLE_EQ(given.trials[0].told_s - given.trials[0].asked_s, 1) << "an hour's offset, and a second";
  EXPECT_EQ(given.trials[1].state, tune::State::kPruned);
  EXPECT_EQ(given.trials[2].state, tune::State::kFailed);
  EXPECT_EQ(given.study.settings.search[1].choices, (std::vector<std::string>{"a", "3", "null"}));
  EXPECT_EQ(given.study.directions().at(0), tune::Direction::kMaximize);
  ASSERT_EQ(given.notes.size(), 1U);
  expect_in(given.notes[0], {"1 trial", "left out"});
}

TEST(Optuna, AParameterThatSomeLackIsConditional) {
  std::string text = kStudy;
  for (int i = 0; i < 6; ++i) {
    text += begun() + set(i, "c", i % 3, kChoice);
    if (i % 3 != 1) text += set(i, "x", 0.1 * i, kFloat);
    text += ended(i, 1, "[1]");
  }
  const GivenStudy given = read(text);
  EXPECT_EQ(given.study.settings.search[1].when.at("c"), (std::vector<std::string>{"a", "null"}));
  EXPECT_EQ(given.trials.size(), 6U);
  EXPECT_TRUE(std::isnan(given.trials[1].point[1]));
  // Nothing tells when x is there.
  text += begun() + set(6, "c", 0, kChoice) + ended(6, 1, "[1]");
  expect_in(message_of(ErrorCode::kData, [&] { read(text); }), {"x:", "trial 1", "says when"});
}

TEST(Optuna, AParameterOfPrunedTrialsAloneIsConditional) {
  std::string text = kStudy;
  for (int i = 0; i < 6; ++i) {
    text += begun() + set(i, "c", i % 3, kChoice);
    text += i % 3 == 1 ? ended(i, 1, "[1]") : set(i, "x", 0.1 * i, kFloat) + ended(i, 2, "null");
  }
  EXPECT_EQ(read(text).study.settings.search[1].when.at("c"), (std::vector<std::string>{"a", "null"}));
}

TEST(Optuna, WhatCannotBeIsNamedByItsLine) {
  const auto said = [](const std::string& text) { return message_of(ErrorCode::kData, [&] { read(text); }); };
  expect_in(said(kStudy + "{\"op_code\":99}\n"), {"o.log:2", "operation 99"});
  expect_in(said(kStudy + "not JSON\n"), {"o.log:2"});
  expect_in(said("\n"), {"o.log:1"});
  expect_in(said(""), {"no study"});
  expect_in(said(kStudy + begun() + set(0, "x", 0.5, kFloat) + ended(0, 1, "[1,2]")), {"o.log:4", "2 values"});
  expect_in(said(kStudy + begun() + set(0, "x", 0.5, "{}")), {"o.log:3"});
  expect_in(said(kStudy + begun() + ended(0, 1, "[1]")), {"first", "no trial has a parameter"});
  expect_in(said(kStudy + begun() + set(0, "x", 1, kFloat) + set(0, "c", 7, kChoice) + ended(0, 1, "[1]") + begun() +
                 set(1, "x", 1, kChoice) + ended(1, 1, "[1]")),
            {"x:", "changed"});
  // A copy of it would end the program.
  const std::string deep = std::string(400000, '[') + std::string(400000, ']');
  expect_in(said(kStudy + R"({"op_code":4,"study_id":0,"values":[)" + deep + "]}\n"), {"o.log:2", "deeper than 64"});
  expect_in(
      said(kStudy + begun() +
           set(0, "x", 0, R"({\"name\":\"CategoricalDistribution\",\"attributes\":{\"choices\":[)" + deep + "]}}")),
      {"o.log:3", "deeper than 64"});
  // What has no trial, as after a study that was deleted, is passed over.
  EXPECT_EQ(parse_optuna_file(kStudy + set(5, "x", 1, kFloat) + ended(-1, 1, "[1]"), "o.log")[0].trials.size(), 0U);
}

TEST(Optuna, AStudyGoesThereAndBack) {
  const TemporaryFolder folder;
  std::string text = kStudy;
  for (int i = 0; i < 5; ++i)
    text += begun() + set(i, "x", 0.125 * i, kFloat) + set(i, "c", i % 3, kChoice) +
            R"({"op_code":7,"worker_id":"w","trial_id":)" + std::to_string(i) +
            R"(,"step":1,"intermediate_value":0.5})" + "\n" + ended(i, i == 3 ? 3 : 1, i == 3 ? "null" : "[0.1]");
  const auto journal = Journal::make_given(folder / "s", read(text));
  EXPECT_TRUE(journal.replay().empty()) << "they were suggested elsewhere";
  const GivenStudy again = read(optuna_file_of(journal.ledger(), "again"));
  EXPECT_EQ(again.study.space().size(), 2U);
  ASSERT_EQ(again.trials.size(), 5U);
  for (size_t i = 0; i < 5; ++i) {
    const tune::Trial& trial = journal.history().trials()[i];
    EXPECT_EQ(again.trials[i].point, trial.point);
    EXPECT_EQ(again.trials[i].values, trial.values);
    EXPECT_EQ(again.trials[i].state, trial.state);
    EXPECT_EQ(again.trials[i].curve, (std::vector<std::pair<int64_t, double>>{{1, 0.5}}));
    EXPECT_NEAR(again.trials[i].told_s, journal.times_of(trial.number).told, 2e-6);
  }
  expect_in(message_of([&] { Journal::make_given(folder / "s", read(text)); }), {"has a study already"});
}

TEST(Optuna, ADateThatCannotBeIsNone) {
  const TemporaryFolder folder;
  std::string text = kStudy + begun() + set(0, "x", 0.5, kFloat) + ended(0, 1, "[0.1]");
  const std::string date = "2026-11-27T07:41:34.5";
  text.replace(text.find(date), date.size(), "2026-11-27T06:41:9e307");
  const auto journal = Journal::make_given(folder / "s", read(text));
  EXPECT_EQ(journal.times_of(1).told, 0);
  EXPECT_EQ(read(optuna_file_of(journal.ledger(), "again")).trials.size(), 1U);
  // Nor one that somebody wrote into the journal.
  std::string own = read_file(folder / "s/journal.jsonl");
  const std::string time = R"("time":0.0)";
  own.replace(own.rfind(time), time.size(), R"("time":9e307)");
  write_file_atomically(folder / "s/journal.jsonl", own);
  expect_in(optuna_file_of(Journal::open(folder / "s").ledger(), "again"), {"9999-12-31T23:59:59"});
}

TEST(Optuna, OneOfTwoImportsAtOnceMakesTheStudy) {
  const TemporaryFolder folder;
  const auto text = [](const std::string& name) {
    std::string lines = kStudy;
    for (int i = 0; i < 50; ++i) lines += begun() + set(i, name, 0.01 * i, kFloat) + ended(i, 1, "[0.1]");
    return lines;
  };
  const std::vector<GivenStudy> given{read(text("a")), read(text("b"))};
  for (int round = 0; round < 20; ++round) {
    const auto path = folder / std::to_string(round);
    std::array<std::string, 2> refused;
    std::vector<std::thread> both;
    for (size_t i = 0; i < 2; ++i)
      both.emplace_back([&, i] {
        try {
          Journal::make_given(path, given[i]);
        } catch (const Error& error) {
          refused[i] = error.what();
        }
      });
    for (std::thread& one : both) one.join();
    const size_t first = refused[0].empty() ? 0 : 1;
    ASSERT_NE(refused[0].empty(), refused[1].empty()) << refused[0] << refused[1];
    expect_in(refused[1 - first], {"has a study already"});
    const Journal journal = Journal::open(path);
    EXPECT_EQ(journal.history().space()[0].name, first == 0 ? "a" : "b");
    EXPECT_EQ(journal.study().settings.search[0].name, first == 0 ? "a" : "b");
    EXPECT_EQ(journal.history().trials().size(), 50U);
  }
  // One that was killed has left no more than this.
  make_folder(folder / "killed");
  write_file_atomically(folder / "killed/journal.jsonl", "");
  EXPECT_EQ(Journal::make_given(folder / "killed", given[0]).history().trials().size(), 50U);
}

}  // namespace
}  // namespace linac::study
