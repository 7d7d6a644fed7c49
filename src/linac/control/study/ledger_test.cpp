#include "linac/control/study/ledger.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/error.h"

namespace linac::study {
namespace {

constexpr const char* kStudy = "search: {x: {low: 0, high: 1}}\nbudget: {trials: 3}\nseed: 5\n";

/// A ledger, and the lines that it was given.
struct Kept {
  explicit Kept(const std::string& text = kStudy) : study(parse_study(text, "test", {})), ledger(study, "test") {
    take(Ledger::first_line(study));
  }
  void take(const std::string& line) {
    ledger.take(line);
    lines.push_back(line);
  }
  int64_t ask() {
    const auto asked = ledger.ask();
    take(asked->line);
    return asked->trial;
  }

  Study study;
  Ledger ledger;
  std::vector<std::string> lines;
};

TEST(Ledger, ALineCountsOnceItIsTaken) {
  Kept kept;
  const auto first = kept.ledger.ask();
  ASSERT_TRUE(first);
  EXPECT_EQ(kept.ledger.ask()->trial, 1) << "the first one was not taken";
  EXPECT_TRUE(kept.ledger.history().trials().empty());
  EXPECT_EQ(kept.ask(), 1);
  kept.take(kept.ledger.report(1, 4, 0.5));
  EXPECT_THROW(kept.ledger.report(1, 4, 0.5), Error);
  kept.take(kept.ledger.tell(1, tune::State::kFailed, {}, "lost"));
  EXPECT_THROW(kept.ledger.tell(1, tune::State::kComplete, {1}), Error);
  for (int64_t trial = 2; trial <= 4; ++trial) EXPECT_EQ(kept.ask(), trial) << "one that failed takes no place";
  EXPECT_FALSE(kept.ledger.ask());
  EXPECT_TRUE(Ledger::replay(kept.study, kept.lines).empty());
  const size_t point = kept.lines[3 + 1].find("\"x\":0.");
  ASSERT_NE(point, std::string::npos);
  kept.lines[3 + 1][point + 7] = kept.lines[3 + 1][point + 7] == '9' ? '8' : '9';
  EXPECT_EQ(Ledger::replay(kept.study, kept.lines), std::vector<int64_t>{2}) << "a point was altered";
}

TEST(Ledger, KnowsWhatItWasTold) {
  Kept kept;
  for (int i = 0; i < 3; ++i) kept.ask();
  const double nan = std::nan("");
  EXPECT_FALSE(kept.ledger.told_so(1, tune::State::kComplete, {0.5}));
  kept.take(kept.ledger.tell(1, tune::State::kComplete, {0.5}));
  kept.take(kept.ledger.tell(2, tune::State::kComplete, {nan}));
  kept.take(kept.ledger.tell(3, tune::State::kInfeasible, {}, "too large"));
  EXPECT_TRUE(kept.ledger.told_so(1, tune::State::kComplete, {0.5}));
  EXPECT_FALSE(kept.ledger.told_so(1, tune::State::kComplete, {std::nextafter(0.5, 1.0)}));
  EXPECT_FALSE(kept.ledger.told_so(1, tune::State::kFailed, {}));
  EXPECT_TRUE(kept.ledger.told_so(2, tune::State::kComplete, {nan}));
  EXPECT_FALSE(kept.ledger.told_so(2, tune::State::kInfeasible, {}));
  EXPECT_TRUE(kept.ledger.told_so(3, tune::State::kInfeasible, {}));
  EXPECT_FALSE(kept.ledger.told_so(3, tune::State::kComplete, {nan}));
  EXPECT_FALSE(kept.ledger.told_so(4, tune::State::kFailed, {}));
}

// What trials took comes from the lines; each suggestion from the budget that was known then, which may change.
TEST(Ledger, KnowsWhatTrialsCostAndEndsWithTheBudget) {
  Kept kept("search: {x: {low: 0, high: 1}}\nsampler: {name: eipu, startup: 3}\nbudget: {trials: 99, cost: 100}\n");
  const auto tell = [&](int64_t trial, double cost) {
    const double x = kept.ledger.history().find(trial)->point[0];
    if (trial == 4) return kept.take(kept.ledger.tell(trial, tune::State::kFailed, {}, "lost", cost));
    kept.take(kept.ledger.tell(trial, tune::State::kComplete, {(x - 0.8) * (x - 0.8)}, "", cost));
  };
  for (int64_t trial = 1; trial <= 7; ++trial) {
    ASSERT_EQ(kept.ask(), trial);
    tell(trial, 1 + 10 * kept.ledger.history().find(trial)->point[0]);
  }
  Study larger = kept.study;
  larger.settings.budget.cost = 1000;
  kept.ledger.set_study(larger);
  for (int64_t trial = 8; trial <= 10; ++trial) {
    ASSERT_EQ(kept.ask(), trial);
    tell(trial, trial == 10 ? 1000 : 1);
  }
  EXPECT_FALSE(kept.ledger.ask()) << "it is spent";
  EXPECT_TRUE(Ledger::replay(kept.study, kept.lines).empty());
  std::string& asked = kept.lines[1 + 2 * 7];
  ASSERT_NE(asked.find(R"("budget":1000)"), std::string::npos) << asked;
  asked.replace(asked.find(R"("budget":1000)"), 13, R"("budget":50)");
  EXPECT_EQ(Ledger::replay(kept.study, kept.lines), std::vector<int64_t>{8}) << "cooled otherwise";
}

TEST(Ledger, TimeIsACostWhereNothingElseIsTold) {
  const std::string ask = R"({"op":"ask","trial":1,"point":{"x":0.5},"time":100})";
  const auto cost = [&](const std::string& sampler, const std::string& end) {
    Kept kept(kStudy + sampler);
    kept.take(ask);
    kept.take(R"({"op":"tell","trial":1,"state":"failed",)" + end + "}");
    return kept.ledger.history().find(1)->cost;
  };
  EXPECT_EQ(cost("", R"("time":142)"), 42);
  EXPECT_EQ(cost("", R"("time":142,"cost":7.5)"), 7.5);
  EXPECT_EQ(cost("sampler: {cost: kwh}\n", R"("time":142,"cost":7.5)"), 7.5);
  EXPECT_TRUE(std::isnan(cost("sampler: {cost: kwh}\n", R"("time":142)")));
  EXPECT_TRUE(std::isnan(cost("", R"("time":99)"))) << "a clock that was set back";
  for (const char* bad : {R"("cost":-1)", R"("cost":"nan")", R"("cost":"inf")", R"("cost":[])"})
    EXPECT_THROW(cost("", bad), Error) << bad;
  Kept kept;
  kept.ask();
  for (const double bad : {-1.0, HUGE_VAL})
    EXPECT_THROW(kept.ledger.tell(1, tune::State::kFailed, {}, "", bad), Error) << bad;
}

TEST(Ledger, NamesALineThatIsNone) {
  for (const char* line :
       {"", "{", "[]", R"({"op":"fly","trial":1})", R"({"op":"study"})", R"({"op":"tell","trial":9,"state":"failed"})",
        R"({"op":"ask","trial":2,"point":{"y":1}})", R"({"op":"ask"})"}) {
    Kept kept;
    EXPECT_THROW(kept.ledger.take(line), Error) << line;
  }
}

}  // namespace
}  // namespace linac::study
