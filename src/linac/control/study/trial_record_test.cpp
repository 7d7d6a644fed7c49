#include "linac/control/study/trial_record.h"

#include <gtest/gtest.h>
#include <sys/stat.h>

#include <cmath>
#include <filesystem>
#include <fstream>

#include "linac/base/base/error.h"
#include "linac/base/base/temporary_folder.h"
#include "linac/control/study/conduct.h"

namespace linac::study {
namespace {

constexpr const char* kStudy =
    "search: {x: {low: 0, high: 1}}\nobjective: {metric: loss}\nsampler: {name: random}\nbudget: {trials: 9, hours: "
    "1}\n";

class TrialRecordTest : public testing::Test {
 protected:
  void write(const char* name, const std::string& text, std::ios::openmode mode = std::ios::trunc) {
    std::ofstream(folder_.path() / name, mode) << text;
  }
  static std::string epoch(int number, double loss) {
    return R"({"kind":"epoch","epoch":)" + std::to_string(number) + R"(,"train":{"loss":)" + std::to_string(loss) +
           "}}\n";
  }
  std::vector<int64_t> steps() {
    std::vector<int64_t> found;
    for (const Measured& one : record_.measured()) found.push_back(one.step);
    return found;
  }

  TemporaryFolder folder_;
  const Study study_ = parse_study(kStudy, "test", {});
  TrialRecord record_{study_, std::filesystem::canonical(folder_.path())};
};

TEST_F(TrialRecordTest, ReadsWholeLinesOnceAndGoesOnInAnotherFile) {
  EXPECT_TRUE(steps().empty()) << "it has not begun";
  write("metrics.jsonl", epoch(0, 3) + epoch(1, 2) + R"({"kind":"epoch","epo)");
  EXPECT_EQ(steps(), (std::vector<int64_t>{1, 2}));
  write("metrics.jsonl", "ch\":2,\"train\":{\"loss\":1.5}}\n", std::ios::app);
  EXPECT_EQ(steps(), std::vector<int64_t>{3});
  // A resume puts another file in its place, which has the epochs before as well.
  write("new", epoch(0, 3) + epoch(1, 2) + epoch(2, 1.5) + epoch(3, 1));
  std::filesystem::rename(folder_.path() / "new", folder_.path() / "metrics.jsonl");
  EXPECT_EQ(steps(), std::vector<int64_t>{4});
  EXPECT_EQ(record_.values_of_epoch(), std::vector<double>{1});
}

TEST_F(TrialRecordTest, ACostIsOfTheLastEpochThatHasIt) {
  const Study study = parse_study(std::string(kStudy) + "seed: 3\n", "test", {});
  Study costly = study;
  costly.settings.sampler.cost = "loss";
  const auto cost = [&](const Study& of) { return TrialRecord(of, std::filesystem::canonical(folder_.path())).cost(); };
  EXPECT_TRUE(std::isnan(cost(costly))) << "it has not begun";
  write("metrics.jsonl", epoch(0, 3) + epoch(1, 2) + R"({"kind":"epoch","epoch":2,"train":{"auc":1}})" + "\n");
  EXPECT_EQ(cost(costly), 2);
  EXPECT_TRUE(std::isnan(cost(study))) << "time is the ledger's matter";
  write("metrics.jsonl", epoch(0, -3));
  EXPECT_TRUE(std::isnan(cost(costly))) << "no cost";
}

TEST_F(TrialRecordTest, WhatIsNoRecordSaysNothing) {
  write("metrics.jsonl", "{\"kind\":7}\n[]\nnull\n{\"kind\":\"epoch\",\"epoch\":\"x\"}\n\xff\n" + epoch(0, 1));
  EXPECT_EQ(steps(), std::vector<int64_t>{1});
  const auto file = folder_.path() / "metrics.jsonl";
  std::filesystem::rename(file, folder_.path() / "other");
  std::filesystem::create_symlink(folder_.path() / "other", file);
  EXPECT_TRUE(steps().empty()) << "a link";
  EXPECT_TRUE(record_.values_of_epoch().empty());
  std::filesystem::remove(file);
  ASSERT_EQ(::mkfifo(file.c_str(), 0600), 0);
  EXPECT_TRUE(steps().empty()) << "a pipe is not waited for";
  for (const char* text : {"", "{", "[]", R"({"error":7})"}) {
    write("run.json", text);
    EXPECT_FALSE(record_.exit_status()) << text;
  }
}

TEST_F(TrialRecordTest, RefusesATrainingThatMeasuresSomethingElse) {
  write("metrics.jsonl", "{\"kind\":\"epoch\",\"epoch\":0,\"train\":{\"auc\":0.5}}\n");
  try {
    record_.measured();
    FAIL() << "an error is expected";
  } catch (const Error& error) {
    EXPECT_EQ(error.code(), ErrorCode::kUser);
    EXPECT_NE(std::string(error.what()).find("reports no 'loss' (it reports auc)"), std::string::npos) << error.what();
  }
}

class ConductTest : public testing::Test {
 protected:
  ConductTest() { ledger_.take(Ledger::first_line(ledger_.study())); }
  void begin(std::initializer_list<double> values) {
    ledger_.take(ledger_.ask()->line);
    int64_t step = 0;
    for (const double value : values) ledger_.take(ledger_.report(1, ++step, value));
  }

  Ledger ledger_{parse_study(kStudy, "test", {}), "test"};
};

TEST_F(ConductTest, ATrialIsWorthItsBestEpoch) {
  begin({3, 1, 2});
  EXPECT_EQ(end_well(ledger_, 1, {}).values, std::vector<double>{1});
  EXPECT_TRUE(is_news(*ledger_.history().find(1), {4, 0}));
  EXPECT_FALSE(is_news(*ledger_.history().find(1), {3, 0}));
}

TEST_F(ConductTest, WithoutAValueItIsInfeasible) {
  begin({});
  EXPECT_EQ(end_well(ledger_, 1, {}).state, tune::State::kInfeasible);
}

TEST_F(ConductTest, TheFirstRefusalIsTheJobsFault) {
  begin({1});
  EXPECT_EQ(mishap_of(static_cast<int>(ErrorCode::kNumeric)), Mishap::kNumeric);
  EXPECT_EQ(mishap_of(static_cast<int>(ErrorCode::kData)), Mishap::kRefused);
  EXPECT_EQ(mishap_of(139), Mishap::kLost);
  EXPECT_FALSE(end_badly(ledger_, Mishap::kRefused, "why"));
  EXPECT_EQ(end_badly(ledger_, Mishap::kNumeric, "why")->state, tune::State::kInfeasible);
  EXPECT_EQ(end_badly(ledger_, Mishap::kLost, "why")->state, tune::State::kFailed);
  ledger_.take(ledger_.tell(1, tune::State::kComplete, {1}));
  EXPECT_EQ(end_badly(ledger_, Mishap::kRefused, "why")->reason, "why");
}

TEST_F(ConductTest, TimeCountsFromTheFirstTrial) {
  EXPECT_FALSE(time_is_over(ledger_, 1e12)) << "nothing has begun";
  begin({});
  EXPECT_FALSE(time_is_over(ledger_, ledger_.first_ask_s() + 3599));
  EXPECT_TRUE(time_is_over(ledger_, ledger_.first_ask_s() + 3601));
}

}  // namespace
}  // namespace linac::study
