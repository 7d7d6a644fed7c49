#include "linac/control/study/ledger.h"

#include <gtest/gtest.h>

#include <cmath>

#include "linac/base/base/error.h"

namespace linac::study {
namespace {

constexpr const char* kStudy = "search: {x: {low: 0, high: 1}}\nbudget: {trials: 3}\nseed: 5\n";

/// A ledger, and the lines that it was given.
struct Kept {
  Study study = parse_study(kStudy, "test", {});
  Ledger ledger{study, "test"};
  std::vector<std::string> lines;

  Kept() { take(Ledger::first_line(study)); }
  void take(const std::string& line) {
    ledger.take(line);
    lines.push_back(line);
  }
  int64_t ask() {
    const auto asked = ledger.ask();
    take(asked->line);
    return asked->trial;
  }
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
