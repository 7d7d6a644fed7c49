#include "linac/train/train/audit/digest.h"

#include <gtest/gtest.h>

#include <bit>

namespace linac::train {
namespace {

graph::Parameters network() {
  graph::Parameters network;
  network.trainable_layout.add("a/kernel", {3, 5});
  network.trainable_layout.add("a/bias", {5});
  network.trainable_layout.add("b/kernel", {5, 7});
  return network;
}

models::Contribution contribution(const graph::Parameters& network) {
  models::Contribution made;
  made.gradient.assign(static_cast<size_t>(network.trainable_layout.total), 0.0F);
  for (const graph::Slot& slot : network.trainable_layout.slots)
    for (int64_t i = 0; i < slot.size; ++i)
      made.gradient[static_cast<size_t>(slot.offset + i)] = 0.25F * static_cast<float>(i + slot.size);
  made.statistics = {1, 2};
  made.losses = {3};
  return made;
}

ContributionDigest digest_of(const graph::Parameters& network, const models::Contribution& made, bool tells) {
  ContributionDigest digest(network);
  if (tells) {
    for (const graph::Slot& slot : network.trainable_layout.slots)
      digest.add_gradient(
          slot.offset,
          std::span(made.gradient).subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size)));
  }
  digest.finish(made, tells);
  return digest;
}

TEST(ContributionDigest, IsTheSameHoweverTheGradientIsTold) {
  const graph::Parameters of = network();
  const models::Contribution made = contribution(of);
  EXPECT_EQ(digest_of(of, made, true).text(), digest_of(of, made, false).text());
  EXPECT_EQ(difference(of, digest_of(of, made, true).text(), digest_of(of, made, false).text()), "");
}

TEST(ContributionDigest, WhatIsNotToldIsNothing) {
  const graph::Parameters of = network();
  models::Contribution made = contribution(of);
  const graph::Slot& bias = of.trainable_layout.slots[1];
  std::fill_n(made.gradient.begin() + bias.offset, bias.size, 0.0F);
  ContributionDigest without(of);
  for (const size_t i : {2U, 0U}) {
    const graph::Slot& slot = of.trainable_layout.slots[i];
    without.add_gradient(
        slot.offset,
        std::span(made.gradient).subspan(static_cast<size_t>(slot.offset), static_cast<size_t>(slot.size)));
  }
  without.finish(made, true);
  EXPECT_EQ(without.whole(), digest_of(of, made, false).whole());
}

TEST(ContributionDigest, SeesEachBit) {
  const graph::Parameters of = network();
  const models::Contribution good = contribution(of);
  const std::string right = digest_of(of, good, false).text();
  for (const graph::Slot& slot : of.trainable_layout.slots) {
    for (int64_t i = 0; i < slot.size; ++i) {
      for (int bit = 0; bit < 32; ++bit) {
        models::Contribution made = good;
        float& value = made.gradient[static_cast<size_t>(slot.offset + i)];
        value = std::bit_cast<float>(std::bit_cast<uint32_t>(value) ^ (1U << bit));
        const std::string wrong = digest_of(of, made, false).text();
        ASSERT_EQ(difference(of, right, wrong), "from the gradient of '" + slot.name + "' on, in 1 of 3 gradients");
      }
    }
  }
}

TEST(ContributionDigest, SaysWhereTheyBeginToDiffer) {
  const graph::Parameters of = network();
  const std::string right = digest_of(of, contribution(of), false).text();
  models::Contribution made = contribution(of);
  made.gradient[0] += 1;
  made.gradient[static_cast<size_t>(of.trainable_layout.slots[1].offset)] += 1;
  EXPECT_EQ(difference(of, right, digest_of(of, made, false).text()),
            "from the gradient of 'a/bias' on, in 2 of 3 gradients")
      << "the later layer comes first";
  made.statistics[1] = 5;
  EXPECT_EQ(difference(of, right, digest_of(of, made, false).text()),
            "from the statistics of the batch on, in 2 of 3 gradients");
  made.losses[0] = -0.0F;
  EXPECT_EQ(difference(of, right, digest_of(of, made, false).text()), "from the losses on, in 2 of 3 gradients");
  made.read = 7;
  EXPECT_EQ(difference(of, right, digest_of(of, made, false).text()),
            "from the events that were read on, in 2 of 3 gradients");
  made = contribution(of);
  made.finite = false;
  EXPECT_NE(right, digest_of(of, made, false).text()) << "a flag";
  EXPECT_EQ(difference(of, right, right + "00000000"), "something else altogether");
}

}  // namespace
}  // namespace linac::train
