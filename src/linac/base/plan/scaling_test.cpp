#include "linac/base/plan/scaling.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "linac/base/base/error.h"

namespace linac::plan {
namespace {

constexpr double kMiB = 1 << 20;

TEST(Link, IsReadWithItsUnits) {
  const Link link = parse_link("10gbit:50us:5us");
  EXPECT_DOUBLE_EQ(link.bytes_per_s, 1.25e9);
  EXPECT_DOUBLE_EQ(link.latency_s, 50e-6);
  EXPECT_DOUBLE_EQ(link.message_s, 5e-6);
  EXPECT_DOUBLE_EQ(parse_link("100mbit:1.5ms").latency_s, 1.5e-3);
  EXPECT_DOUBLE_EQ(parse_link("100mbit:1.5ms").message_s, Link{}.message_s);
  const Link whole = parse_link("100gbit:20us:10us:0.9ns:0.05ns:8");
  EXPECT_DOUBLE_EQ(whole.byte_s, 0.9e-9);
  EXPECT_DOUBLE_EQ(whole.add_s, 0.05e-9);
  EXPECT_EQ(whole.threads, 8);
  EXPECT_EQ(parse_link("10gbit:50us:10us:1ns").threads, 1);
}

TEST(Link, IsRefusedWithTheRightForm) {
  for (const char* text : {"", "10gbit", "10:50us", "10gbit:50", "0gbit:1us", "1.2.3gbit:1us:", "-1gbit:1us",
                           ".gbit:1us", "1gbit:8", "1gbit:1us:1us:1ns:1ns:1ns", "1gbit:1us:8:1us"}) {
    try {
      parse_link(text);
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_NE(std::string(error.what()).find("10gbit:50us:10us"), std::string::npos) << text;
    }
  }
}

TEST(Exchange, TakesTwoLatenciesAndTwoTransfers) {
  const Link link{.bytes_per_s = 1e8, .latency_s = 1e-3, .message_s = 0};
  EXPECT_DOUBLE_EQ(exchange_s(kMiB, 1, 1, link), 0);
  EXPECT_DOUBLE_EQ(exchange_s(kMiB, 2, 1, link), 2e-3 + 2 * 0.5 * kMiB / 1e8);
  EXPECT_DOUBLE_EQ(exchange_s(kMiB, 4, 8, link), 2e-3 + 2 * 0.75 * kMiB / 1e8);
}

TEST(Exchange, CountsTheMessagesOfAHost) {
  const Link link{.bytes_per_s = 1e30, .latency_s = 0, .message_s = 1e-6};
  EXPECT_NEAR(exchange_s(kMiB, 4, 1, link), 2 * 6e-6, 1e-12);  // three to go out and three to come in, twice
  // A message that is too small to be cut: rank 0 hears from all and tells all.
  EXPECT_NEAR(exchange_s(100, 4, 1, link), 2 * 3e-6, 1e-12);
}

TEST(Exchange, ManyHostsExchangeInLevels) {
  EXPECT_EQ(groups_of(32), std::vector<int>{32});
  EXPECT_EQ(groups_of(64), (std::vector<int>{8, 8}));
  EXPECT_EQ(groups_of(512), (std::vector<int>{8, 8, 8}));
  const Link messages{.bytes_per_s = 1e30, .latency_s = 0, .message_s = 1e-6};
  // In the last level 4 parts of 16 KiB are held by 4 of 8.
  EXPECT_NEAR(exchange_s(4 * kMiB, 512, 1, messages), 2 * (14 + 14 + 10) * 1e-6, 1e-12);
  const Link latency{.bytes_per_s = 1e30, .latency_s = 1, .message_s = 0};
  EXPECT_NEAR(exchange_s(4 * kMiB, 512, 1, latency), 3 * 2, 1e-9);
  const Link bytes{.bytes_per_s = 1e8, .latency_s = 0, .message_s = 0};
  EXPECT_NEAR(exchange_s(4 * kMiB, 64, 1, bytes), 2 * 63.0 / 64 * 4 * kMiB / 1e8, 1e-9);
}

TEST(Exchange, PartsHaveALeastSize) {
  const Link link{.bytes_per_s = 1e8, .latency_s = 0, .message_s = 0};
  // 8 parts of 16 KiB in the first level; one in the second one.
  EXPECT_NEAR(exchange_s(kMiB / 8, 64, 1, link), 2 * (7 + 7) * 16384 / 1e8, 1e-9);
}

TEST(Exchange, TheSlowerOfLinkAndHostCounts) {
  const Link link{.bytes_per_s = 1e10, .latency_s = 0, .message_s = 0, .byte_s = 1e-9};
  EXPECT_NEAR(exchange_s(kMiB, 2, 1, link), kMiB * 1e-9, 1e-12);
  Link more = link;
  more.threads = 4;
  EXPECT_NEAR(exchange_s(kMiB / 4, 2, 1, more), kMiB / 4 * 1e-9, 1e-12) << "a round of 256 KiB is one thread's";
  EXPECT_NEAR(exchange_s(4 * kMiB, 64, 1, more), 2 * (7.0 / 8 * 4 * kMiB * 0.25e-9 + 7.0 / 64 * 4 * kMiB / 3 * 1e-9),
              1e-9);
  more.add_s = 1e-9;
  EXPECT_NEAR(exchange_s(kMiB / 4, 2, 1, more), 1.5 * kMiB / 4 * 1e-9, 1e-12);
}

TEST(Exchange, LargeMessagesGoInChunks) {
  const Link link{.bytes_per_s = 1e30, .latency_s = 1, .message_s = 0};
  EXPECT_NEAR(exchange_s(2.5 * kMiB, 2, 1, link), 3 * 2, 1e-9);
  EXPECT_NEAR(exchange_s(8.5 * kMiB, 128, 1, link), 2 * 2 * 2, 1e-9);
}

// A model of 100 MB whose backward pass, two thirds of a step of 50 ms, gives 16 buckets; then the message's tail. What
// docs/internals/scaling.md says of it.
double efficiency_of_100_mb(const char* link) {
  constexpr int kBuckets = 16;
  Step step{.compute_s = 0.05, .replicas = 1, .updates = {Update{}}};
  for (int i = 1; i <= kBuckets; ++i)
    step.updates[0].buckets.push_back({100e6 / kBuckets, 0.05 * 2 / 3 * (kBuckets - i) / kBuckets});
  step.updates[0].buckets.push_back({416, 0});
  const double found = predict(step, 128, parse_link(link)).efficiency;
  std::printf("%-36s %.1f %%\n", link, 100 * found);
  return found;
}

TEST(Predict, AFastLinkNeedsThreadsThatEncrypt) {
  EXPECT_LT(efficiency_of_100_mb("100gbit:20us:10us:0.9ns:0.05ns:1"), 0.5);
  EXPECT_LT(efficiency_of_100_mb("100gbit:20us:10us:0.9ns:0.05ns:2"), 0.9);
  EXPECT_LT(efficiency_of_100_mb("100gbit:20us:10us:0.9ns:0.05ns:4"), 0.9);
  efficiency_of_100_mb("100gbit:20us:10us:0.9ns:0.05ns:8");
  efficiency_of_100_mb("100gbit:50us:10us:0.9ns:0.05ns:8");
  efficiency_of_100_mb("100gbit:20us:10us:0.2ns:0.05ns:1");
  efficiency_of_100_mb("100gbit:20us:10us:0ns:0ns:1");
  efficiency_of_100_mb("10gbit:20us:10us:0.9ns:0.05ns:8");
}

TEST(Sums, OneWhereTheReplicasAreAPowerOfTwo) {
  EXPECT_EQ(sums_of_a_host(4, 1), 1);
  EXPECT_EQ(sums_of_a_host(5, 8), 1);
  EXPECT_EQ(sums_of_a_host(1, 3), 1);
  // [0, 6) = [0, 4) + [4, 6): the first host's 0..2 are [0, 2) and [2, 3), the second one's 3 and [4, 6).
  EXPECT_EQ(sums_of_a_host(2, 3), 2);
}

TEST(Exposed, TheLastBucketAlwaysAndOthersWhereTheyAreLate) {
  const Link link{.bytes_per_s = kMiB, .latency_s = 0, .message_s = 0};  // two hosts: a second for a MiB
  EXPECT_DOUBLE_EQ(exposed_s({{{kMiB, 0}}}, 2, 1, link), 1);
  EXPECT_DOUBLE_EQ(exposed_s({{{kMiB, 3}, {kMiB / 2, 0}}}, 2, 1, link), 0.5);
  // The first one is under way for a second, half of it after the end, and holds the second one up.
  EXPECT_DOUBLE_EQ(exposed_s({{{kMiB, 0.5}, {kMiB / 2, 0}}}, 2, 1, link), 1);
  EXPECT_DOUBLE_EQ(exposed_s({{{kMiB, 0}}, 0.75}, 2, 1, link), 0.25) << "what is done beside";
  EXPECT_DOUBLE_EQ(exposed_s({{{kMiB, 0}}, 1.5}, 2, 1, link), 0);
  EXPECT_DOUBLE_EQ(exposed_s({{{kMiB, 0.5}}}, 1, 1, link), 0);
}

TEST(Predict, AddsTheUpdatesUp) {
  const Link link{.bytes_per_s = kMiB, .latency_s = 0, .message_s = 0};
  const Step step{.compute_s = 8, .replicas = 2, .updates = {{{{kMiB, 0}}}, {{{kMiB, 0}}}}};
  const Prediction two = predict(step, 2, link);
  EXPECT_DOUBLE_EQ(two.exposed_s, 2);
  EXPECT_DOUBLE_EQ(two.step_s, 10);
  EXPECT_DOUBLE_EQ(two.efficiency, 0.8);
  EXPECT_DOUBLE_EQ(two.sent_bytes, 2 * kMiB);
  EXPECT_DOUBLE_EQ(predict(step, 1, link).efficiency, 1);
  EXPECT_DOUBLE_EQ(predict(step, 1, link).sent_bytes, 0);
}

TEST(Scaling, WhatTravelsEveryTenthStepWaitsATenthOfTheTime) {
  const Link link = parse_link("100mbit:50ms");
  Step step{.compute_s = 1, .replicas = 2, .updates = {{{{kMiB, 0}}}}};
  const Prediction each = predict(step, 2, link);
  step.updates[0].every = 10;
  const Prediction tenth = predict(step, 2, link);
  EXPECT_GT(each.exposed_s, 0.1);
  EXPECT_NEAR(tenth.exposed_s, each.exposed_s / 10, 1e-9);
  EXPECT_NEAR(tenth.sent_bytes, each.sent_bytes / 10, 1e-6);
}

}  // namespace
}  // namespace linac::plan
