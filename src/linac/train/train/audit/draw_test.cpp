#include "linac/train/train/audit/draw.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace linac::train {
namespace {

comm::View view_of(const std::vector<int>& shares) {
  comm::View view{.number = 1, .members = {}, .next_seniority = static_cast<int64_t>(shares.size())};
  for (size_t i = 0; i < shares.size(); ++i)
    view.members.push_back({.seniority = static_cast<int64_t>(i), .key = i + 1, .share = shares[i]});
  return view;
}

TEST(AuditDraw, TheShareOfTheStepsIsTheRate) {
  const comm::View view = view_of({2, 2});
  for (const double rate : {0.0, 0.1, 1.0}) {
    int audited = 0;
    constexpr int kSteps = 4000;
    for (uint32_t step = 0; step < kSteps; ++step)
      audited += auditors_of(rate, {.seed = 7, .epoch = 1, .step = step}, view, 4) ? 1 : 0;
    EXPECT_NEAR(audited, rate * kSteps, rate == 0.1 ? 80 : 0) << rate;  // four standard deviations
  }
}

// Whether a step is audited does not depend on who carries what, or a step that is done again would not be.
TEST(AuditDraw, DependsOnTheStepAlone) {
  for (uint32_t step = 0; step < 200; ++step) {
    const RngKey key{.seed = 7, .step = step};
    EXPECT_EQ(auditors_of(0.3, key, view_of({4}), 4).has_value(),
              auditors_of(0.3, key, view_of({1, 2, 1}), 4).has_value());
  }
}

TEST(AuditDraw, AnotherOneComputesEachReplicaAndAsManyAsItCarries) {
  for (const std::vector<int>& shares : {std::vector{2, 2}, {1, 1, 1}, {3, 2, 3}, {1, 5, 2, 3}, {4, 1, 3}}) {
    const comm::View view = view_of(shares);
    int replicas = 0;
    for (const int share : shares) replicas += share;
    std::set<std::vector<int>> drawn;
    for (uint32_t step = 0; step < 50; ++step) {
      const auto auditors = auditors_of(1, {.seed = 1, .step = step}, view, replicas);
      ASSERT_TRUE(auditors);
      std::vector<int> computed(shares.size());
      int replica = 0;
      for (size_t rank = 0; rank < shares.size(); ++rank) {
        for (int i = 0; i < shares[rank]; ++i, ++replica) {
          EXPECT_NE((*auditors)[static_cast<size_t>(replica)], static_cast<int>(rank));
          ++computed[static_cast<size_t>((*auditors)[static_cast<size_t>(replica)])];
        }
      }
      EXPECT_EQ(computed, shares);
      drawn.insert(*auditors);
    }
    const bool has_choice = replicas > 2 * *std::ranges::max_element(shares);
    EXPECT_EQ(drawn.size() > 1, has_choice) << "always the same pairs, or others than can be";
  }
}

TEST(AuditDraw, OneThatCarriesMostIsAuditedByTheOthers) {
  const auto auditors = auditors_of(1, {.seed = 1}, view_of({5, 1}), 6);
  EXPECT_EQ(auditors, (std::vector{1, 1, 1, 1, 1, 0}));
}

TEST(AuditDraw, WhoCarriesNothingAudits) {
  comm::View view = view_of({0, 0, 0, 0});  // evenly: two of them carry one each
  const auto four = auditors_of(1, {.seed = 1}, view, 2);
  ASSERT_TRUE(four);
  for (size_t replica = 0; replica < 2; ++replica) {
    const comm::ReplicaRange range = comm::replicas_of(view, (*four)[replica], 2);
    EXPECT_EQ(range.begin, range.end);
  }
  EXPECT_NE((*four)[0], (*four)[1]);
}

TEST(AuditDraw, ALoneWorkerAuditsItself) {
  EXPECT_EQ(auditors_of(1, {.seed = 1}, view_of({3}), 3), (std::vector{0, 0, 0}));
}

}  // namespace
}  // namespace linac::train
