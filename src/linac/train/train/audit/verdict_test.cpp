#include "linac/train/train/audit/verdict.h"

#include <gtest/gtest.h>

#include <functional>

namespace linac::train {
namespace {

using Ranks = std::vector<int>;

// Asks until nobody is asked any more; `said` is what a rank says the n-th time.
Verdict decided(int ranks, int carrier, int auditor, const std::function<uint64_t(int rank, int time)>& said,
                size_t* asked = nullptr) {
  std::vector<int> times(static_cast<size_t>(ranks));
  std::vector<Saying> sayings;
  const auto ask = [&](int rank) { sayings.push_back({rank, said(rank, times[static_cast<size_t>(rank)]++)}); };
  ask(carrier);
  ask(auditor);
  for (Ranks next = next_witnesses(sayings, ranks); !next.empty(); next = next_witnesses(sayings, ranks)) {
    for (const int rank : next) ask(rank);
    EXPECT_LE(sayings.size(), 2 * static_cast<size_t>(ranks)) << "it has no end";
  }
  if (asked != nullptr) *asked = sayings.size();
  return judge(sayings);
}

void expect(const Verdict& verdict, const Ranks& wrong, const Ranks& suspects) {
  EXPECT_EQ(verdict.wrong, wrong);
  EXPECT_EQ(verdict.suspects, suspects);
}

TEST(AuditVerdict, NobodyIsNamedWhereAllAgree) {
  size_t asked = 0;
  expect(decided(
             3, 0, 1, [](int, int) { return 7; }, &asked),
         {}, {});
  EXPECT_EQ(asked, 2U) << "and nobody else is asked";
}

TEST(AuditVerdict, AThirdOneDecides) {
  for (const int liar : {0, 1}) {  // who carries the replica, or who audits it
    size_t asked = 0;
    expect(decided(
               3, 0, 1, [&](int rank, int) { return rank == liar ? 9U : 7U; }, &asked),
           {liar}, {});
    EXPECT_EQ(asked, 3U);
  }
}

TEST(AuditVerdict, OneThatIsAskedLaterMayLieToo) {
  size_t asked = 0;
  expect(decided(
             4, 0, 1, [](int rank, int) { return rank == 0 || rank == 2 ? 10U + static_cast<unsigned>(rank) : 7U; },
             &asked),
         {0, 2}, {});
  EXPECT_EQ(asked, 4U);
  expect(
      decided(5, 1, 2, [](int rank, int) { return rank == 1 || rank == 2 ? 10U + static_cast<unsigned>(rank) : 7U; }),
      {1, 2}, {});
}

TEST(AuditVerdict, TwoLiarsOfThreeLeaveNobodyToTell) {
  expect(decided(3, 0, 1, [](int rank, int) { return 10U + static_cast<unsigned>(rank); }), {}, {0, 1, 2});
}

TEST(AuditVerdict, OfTwoThatStandByTheirWordBothAreSuspects) {
  size_t asked = 0;
  expect(decided(
             2, 0, 1, [](int rank, int) { return rank == 0 ? 9U : 7U; }, &asked),
         {}, {0, 1});
  EXPECT_EQ(asked, 4U) << "each computes again, once";
}

TEST(AuditVerdict, OfTwoTheOneThatContradictsItselfIsWrong) {
  expect(decided(2, 0, 1, [](int rank, int time) { return rank == 0 && time == 0 ? 9U : 7U; }), {0},
         {});  // a bit, once
  expect(decided(2, 0, 1, [](int rank, int time) { return rank == 1 ? 20U + static_cast<unsigned>(time) : 7U; }), {1},
         {});
  expect(decided(2, 0, 1,
                 [](int rank, int time) { return 10U * static_cast<unsigned>(rank) + static_cast<unsigned>(time); }),
         {0, 1}, {});
}

TEST(AuditVerdict, ThatTwoTakeEachOthersWordIsNoProof) {
  expect(decided(2, 0, 1, [](int rank, int time) { return (rank + time) % 2 == 0 ? 7U : 9U; }), {0, 1}, {});
}

TEST(AuditVerdict, ALoneWorkerIsWrongWhereItContradictsItself) {
  expect(decided(1, 0, 0, [](int, int time) { return 7U + static_cast<unsigned>(time); }), {0}, {});
  expect(decided(1, 0, 0, [](int, int) { return 7U; }), {}, {});
}

// Three of five err once, in different bits.
TEST(AuditVerdict, WhoErredOnceIsNamedToo) {
  expect(decided(5, 0, 1,
                 [](int rank, int time) { return rank < 3 && time == 0 ? 10U + static_cast<unsigned>(rank) : 7U; }),
         {0, 1, 2}, {});
}

}  // namespace
}  // namespace linac::train
