#include "linac/base/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace linac {
namespace {

// Known answers published with Random123 (kat_vectors, philox4x32 10).
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}), (std::array<uint32_t, 4>{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  EXPECT_EQ(philox({0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff}, {0xffffffff, 0xffffffff}),
            (std::array<uint32_t, 4>{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (std::array<uint32_t, 4>{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, ASequenceIsTheSameWhereverItIsCut) {
  const RngKey key{.seed = 42, .stream = Stream::kDropout, .lane = 3, .epoch = 1, .step = 7, .replica = 2};
  std::vector<uint32_t> whole(1003), tail(1003 - 500);
  fill_bits(key, 0, whole);
  fill_bits(key, 500, tail);
  EXPECT_TRUE(std::equal(tail.begin(), tail.end(), whole.begin() + 500));
}

TEST(Rng, EveryFieldOfTheKeyMatters) {
  const RngKey base{.seed = 1, .stream = Stream::kNoise};
  std::vector<RngKey> keys(7, base);
  keys[1].seed = 2;
  keys[2].stream = Stream::kInit;
  keys[3].lane = 1;
  keys[4].epoch = 1;
  keys[5].step = 1;
  keys[6].replica = 1;
  std::vector<std::vector<uint32_t>> drawn;
  for (const RngKey& key : keys) {
    drawn.emplace_back(8);
    fill_bits(key, 0, drawn.back());
  }
  for (size_t i = 0; i < drawn.size(); ++i) {
    for (size_t j = i + 1; j < drawn.size(); ++j) EXPECT_NE(drawn[i], drawn[j]) << i << " and " << j;
  }
}

TEST(Rng, NormalHasMeanZeroAndVarianceOne) {
  std::vector<float> x(200'000);
  fill_normal({.seed = 5, .stream = Stream::kNoise}, x);
  double sum = 0, squares = 0, fourth = 0;
  for (const double value : x) {
    sum += value;
    squares += value * value;
    fourth += value * value * value * value;
  }
  const double n = static_cast<double>(x.size());
  EXPECT_NEAR(sum / n, 0, 5 / std::sqrt(n));
  EXPECT_NEAR(squares / n, 1, 5 * std::sqrt(2 / n));
  EXPECT_NEAR(fourth / n, 3, 5 * std::sqrt(96 / n));
}

TEST(Rng, UniformStaysInRangeAndIsFlat) {
  std::vector<float> x(100'000);
  fill_uniform({.seed = 9, .stream = Stream::kDropout}, x);
  std::vector<int> bins(10);
  for (const float value : x) {
    ASSERT_GE(value, 0.0F);
    ASSERT_LT(value, 1.0F);
    ++bins[static_cast<size_t>(value * 10)];
  }
  for (const int count : bins) EXPECT_NEAR(count, 10'000, 5 * std::sqrt(9'000.0));
}

TEST(Rng, PermutationHoldsEveryIndexOnce) {
  std::vector<int64_t> order(1000), again(1000), other(1000);
  fill_permutation({.seed = 3, .stream = Stream::kShuffle, .epoch = 4}, order);
  fill_permutation({.seed = 3, .stream = Stream::kShuffle, .epoch = 4}, again);
  fill_permutation({.seed = 3, .stream = Stream::kShuffle, .epoch = 5}, other);
  EXPECT_EQ(order, again);
  EXPECT_NE(order, other);
  std::sort(order.begin(), order.end());
  for (int64_t i = 0; i < 1000; ++i) EXPECT_EQ(order[static_cast<size_t>(i)], i);
}

}  // namespace
}  // namespace linac
