#include "linac/model/kernels/row_kernels.h"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <string>
#include <tuple>
#include <vector>

#include "linac/base/base/aligned.h"
#include "linac/base/base/rng.h"
#include "linac/model/kernels/peak.h"

namespace linac::kernels {
namespace {

constexpr RowShape kShape{3, 5, 7};  // no number that any vector likes

uint16_t upper_half(float value) {
  const auto bits = std::bit_cast<uint32_t>(value);
  return static_cast<uint16_t>((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}
float as_float(uint16_t half) {
  return std::bit_cast<float>(static_cast<uint32_t>(half) << 16);
}
float kept_value(float value, Storage storage) {
  return storage == Storage::kFloat ? value : as_float(upper_half(value));
}

/// Rows kept in either way, with plain floats to look at.
struct Kept {
  Storage storage;
  AlignedFloats memory;

  explicit Kept(Storage storage) : storage(storage), memory(static_cast<size_t>(kShape.floats())) {}
  Kept(Storage storage, const AlignedFloats& values) : Kept(storage) {
    for (size_t i = 0; i < values.size(); ++i) {
      if (storage == Storage::kFloat)
        memory[i] = values[i];
      else
        halves()[i] = upper_half(values[i]);
    }
  }
  uint16_t* halves() { return reinterpret_cast<uint16_t*>(memory.data()); }
  KeptRows rows() { return {memory.data(), 0, storage}; }
  float operator[](size_t i) { return storage == Storage::kFloat ? memory[i] : as_float(halves()[i]); }
};

AlignedFloats random_rows(uint32_t lane) {
  AlignedFloats values(static_cast<size_t>(kShape.floats()));
  fill_uniform({.lane = lane}, values);
  for (float& value : values) value = 4 * value - 2;
  return values;
}

std::vector<float> per_channel(uint32_t lane) {
  std::vector<float> values(static_cast<size_t>(kShape.channels));
  fill_uniform({.lane = lane}, values);
  return values;
}

size_t channel_of(size_t i) {
  return i / 16 / static_cast<size_t>(kShape.cells) % static_cast<size_t>(kShape.channels);
}

std::vector<uint16_t> random_mask() {
  std::vector<uint32_t> bits(static_cast<size_t>(kShape.vectors()));
  fill_bits({.lane = 9}, 0, bits);
  return {bits.begin(), bits.end()};
}

class Rows : public testing::TestWithParam<std::tuple<Isa, Storage>> {
 protected:
  void SetUp() override {
    if (!has_isa(isa())) GTEST_SKIP() << "this processor lacks it";
  }
  static Isa isa() { return std::get<0>(GetParam()); }
  static Storage storage() { return std::get<1>(GetParam()); }
  const RowKernels& kernels() const { return row_kernels(isa()); }
};

TEST_P(Rows, TransformNormalisesAndDrops) {
  const AlignedFloats values = random_rows(1);
  Kept r(storage(), values);
  const auto mean = per_channel(2), scale = per_channel(3), shift = per_channel(4);
  const auto mask = random_mask();
  AlignedFloats y(values.size());
  kernels().transform(kShape, r.rows(), {mean.data(), scale.data(), shift.data(), mask.data(), 1.25F}, y.data());
  for (size_t i = 0; i < y.size(); ++i) {
    const size_t c = channel_of(i);
    const float normal = (r[i] - mean[c]) * scale[c] + shift[c];
    ASSERT_EQ(y[i], (mask[i / 16] >> (i % 16) & 1) != 0 ? normal * 1.25F : 0.0F) << i;
  }
  kernels().transform(kShape, r.rows(), {}, y.data());
  for (size_t i = 0; i < y.size(); ++i) ASSERT_EQ(y[i], r[i]);
}

TEST_P(Rows, ActivateAddsTheBiasAndSums) {
  const AlignedFloats a = random_rows(1);
  const auto bias = per_channel(2);
  Kept r(storage());
  std::vector<double> sums(static_cast<size_t>(kShape.channels * 32)), expected(sums.size());
  kernels().activate(kShape, a.data(), bias.data(), 0.3F, sums.data(), r.rows());
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t c = channel_of(i);
    const float value = a[i] + bias[c];
    const float kept = kept_value(value > 0 ? value : value * 0.3F, storage());
    ASSERT_EQ(r[i], kept) << i;
    expected[c * 32 + i % 16] += static_cast<double>(kept);
    expected[c * 32 + 16 + i % 16] += static_cast<double>(kept) * static_cast<double>(kept);
  }
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], expected[i], 1e-5);
}

TEST_P(Rows, GradientFollowsTheSignOfTheOutput) {
  const AlignedFloats values = random_rows(1), dy = random_rows(2);
  Kept r(storage(), values), gradient(storage(), dy);
  const auto y = per_channel(3), rf = per_channel(4), offset = per_channel(5), mean = per_channel(6);
  AlignedFloats a(values.size());
  kernels().gradient(kShape, r.rows(), gradient.rows(), {y.data(), rf.data(), offset.data(), mean.data(), 0.3F},
                     a.data());
  for (size_t i = 0; i < a.size(); ++i) {
    const size_t c = channel_of(i);
    const float through = gradient[i] * y[c] + (r[i] - mean[c]) * rf[c] + offset[c];
    ASSERT_EQ(a[i], r[i] > 0 ? through : through * 0.3F) << i;
  }
}

TEST_P(Rows, DropoutsGradientIsSummed) {
  const AlignedFloats values = random_rows(1), dy = random_rows(2);
  Kept r(storage(), values), out(storage());
  const auto mean = per_channel(3);
  const auto mask = random_mask();
  std::vector<double> sums(static_cast<size_t>(kShape.channels * 32)), expected(sums.size());
  RowTransform what;
  what.mean = mean.data(), what.mask = mask.data(), what.kept = 2;
  kernels().through_dropout(kShape, dy.data(), what, r.rows(), sums.data(), out.rows());
  for (size_t i = 0; i < dy.size(); ++i) {
    const size_t c = channel_of(i);
    const float kept = (mask[i / 16] >> (i % 16) & 1) != 0 ? kept_value(dy[i] * 2, storage()) : 0.0F;
    ASSERT_EQ(out[i], kept) << i;
    expected[c * 32 + i % 16] += static_cast<double>(kept);
    expected[c * 32 + 16 + i % 16] += static_cast<double>(kept) * static_cast<double>(r[i] - mean[c]);
  }
  for (size_t i = 0; i < sums.size(); ++i) EXPECT_NEAR(sums[i], expected[i], 1e-5);
}

TEST_P(Rows, NotANumberStaysOne) {
  AlignedFloats a = random_rows(1);
  a[5] = std::numeric_limits<float>::quiet_NaN();
  a[6] = std::bit_cast<float>(0x7F800001U);  // its upper half alone would be infinite
  a[7] = std::numeric_limits<float>::infinity();
  Kept r(storage());
  kernels().activate(kShape, a.data(), nullptr, 1, nullptr, r.rows());
  EXPECT_TRUE(std::isnan(r[5]));
  EXPECT_TRUE(std::isnan(r[6]));
  EXPECT_TRUE(std::isinf(r[7]));
}

TEST_P(Rows, KeepBitsAreThoseOfTheSequence) {
  const RngKey key{.seed = 4, .stream = Stream::kDropout, .lane = 3};
  const PhiloxSequence sequence = philox_sequence(key);
  constexpr int64_t kElements = 45, kFirst = 11, kCount = 27;
  constexpr uint32_t kThreshold = 20000;
  constexpr uint64_t kBlocks = (kElements + 7) / 8;
  std::vector<uint16_t> bits(kCount);
  kernels().keep_bits(sequence.key.data(), sequence.counter.data(), 16, kBlocks, kFirst, kCount, kThreshold,
                      bits.data());
  for (uint64_t event = 0; event < 16; ++event) {
    std::vector<uint32_t> words(kBlocks * 4);
    fill_bits(key, (16 + event) * kBlocks * 4, words);
    for (int64_t i = 0; i < kCount; ++i) {
      const auto element = static_cast<size_t>(kFirst + i);
      const uint32_t number = words[element / 2] >> (16 * (element % 2)) & 0xFFFF;
      ASSERT_EQ(bits[static_cast<size_t>(i)] >> event & 1, number >= kThreshold ? 1 : 0) << event << " " << i;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(AllIsas, Rows,
                         testing::Combine(testing::ValuesIn(kIsas),
                                          testing::Values(Storage::kFloat, Storage::kBfloat16)),
                         [](const auto& info) {
                           return std::string(to_string(std::get<0>(info.param))) +
                                  (std::get<1>(info.param) == Storage::kFloat ? "_fp32" : "_bf16");
                         });

TEST(RowPools, AverageAndSpread) {
  const AlignedFloats values = random_rows(1);
  constexpr int64_t kSize = 2, kCells = kShape.cells / kSize;
  for (const Isa isa : kIsas) {
    if (!has_isa(isa)) continue;
    AlignedFloats out(static_cast<size_t>(kShape.channels * kCells * 16));
    row_kernels(isa).pool({1, kShape.channels, kShape.cells}, values.data(), kSize, 0.5F, out.data());
    AlignedFloats back(static_cast<size_t>(kShape.channels * kShape.cells * 16), 9.0F);
    row_kernels(isa).unpool({1, kShape.channels, kShape.cells}, out.data(), kSize, 0.5F, back.data());
    for (int64_t c = 0; c < kShape.channels; ++c) {
      for (int64_t z = 0; z < kShape.cells; ++z) {
        for (int64_t event = 0; event < 16; ++event) {
          const auto cell = [&](int64_t at) {
            return values[static_cast<size_t>((c * kShape.cells + at) * 16 + event)];
          };
          const float spread = back[static_cast<size_t>((c * kShape.cells + z) * 16 + event)];
          if (z / kSize >= kCells) {
            EXPECT_EQ(spread, 0) << "left over by the pool";
            continue;
          }
          const float mean = (cell(z / kSize * kSize) + cell(z / kSize * kSize + 1)) * 0.5F;
          EXPECT_FLOAT_EQ(out[static_cast<size_t>((c * kCells + z / kSize) * 16 + event)], mean);
          EXPECT_FLOAT_EQ(spread, mean * 0.5F);
        }
      }
    }
  }
}

/// Two rows and two planes of windows of 2 x 2 x 3 cells, with equal cells and some that are no numbers, against a
/// search in plain loops.
TEST(RowPools, TheLargestCellTakesTheGradient) {
  constexpr int64_t kSize = 3, kWindows = kShape.cells / kSize, kRow = kShape.channels * kShape.cells;
  constexpr RowShape kOne{1, kShape.channels, kShape.cells};
  AlignedFloats cells(static_cast<size_t>(4 * kRow * 16));
  fill_uniform({.lane = 1}, cells);
  for (float& value : cells) value = std::floor(4 * value) - 2;
  for (size_t i = 0; i < cells.size(); i += 211) cells[i] = std::numeric_limits<float>::quiet_NaN();
  for (const Isa isa : kIsas) {
    if (!has_isa(isa)) continue;
    SCOPED_TRACE(to_string(isa));
    const RowKernels& kernels = row_kernels(isa);
    AlignedFloats best(static_cast<size_t>(2 * kShape.channels * kWindows * 16)), without_bits = best;
    std::vector<uint16_t> bits(static_cast<size_t>(4 * kRow));
    for (int64_t row = 0; row < 4; ++row) {
      const int64_t to = row / 2 * kShape.channels * kWindows * 16;
      kernels.max_pool(kOne, cells.data() + row * kRow * 16, kSize, row % 2, best.data() + to,
                       bits.data() + row * kRow);
      kernels.max_pool(kOne, cells.data() + row * kRow * 16, kSize, row % 2, without_bits.data() + to, nullptr);
    }
    const RowShape pooled{1, kShape.channels, kWindows};
    for (AlignedFloats* joined : {&best, &without_bits}) {
      kernels.max_planes(pooled, {2, kSize, kShape.cells, 2 * kRow}, 1, joined->data(),
                         joined->data() + pooled.floats(), joined == &best ? bits.data() + 2 * kRow : nullptr);
    }
    std::vector<AlignedFloats> spread(4, AlignedFloats(static_cast<size_t>(kRow * 16), 9.0F));
    for (size_t row = 0; row < 4; ++row)
      kernels.max_unpool(kOne, best.data(), kSize, bits.data() + static_cast<int64_t>(row) * kRow, spread[row].data());
    const auto same = [](float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); };
    for (int64_t c = 0; c < kShape.channels; ++c) {
      for (int64_t i = 0; i < kWindows; ++i) {
        for (int64_t event = 0; event < 16; ++event) {
          const auto cell = [&](int64_t k) { return (c * kShape.cells + i * kSize + k) * 16 + event; };
          int64_t winner = 0;
          float largest = cells[static_cast<size_t>(cell(0))];
          for (int64_t n = 1; n < 4 * kSize; ++n) {
            const float value = cells[static_cast<size_t>(n / kSize * kRow * 16 + cell(n % kSize))];
            if (!std::isnan(largest) && !(value <= largest)) largest = value, winner = n;
          }
          const float found = best[static_cast<size_t>((c * kWindows + i) * 16 + event)];
          ASSERT_TRUE(same(found, largest)) << found << " for " << largest;
          ASSERT_TRUE(same(found, without_bits[static_cast<size_t>((c * kWindows + i) * 16 + event)]));
          if (std::isnan(largest)) continue;  // a later one may have taken the gradient
          for (int64_t n = 0; n < 4 * kSize; ++n) {
            ASSERT_EQ(spread[static_cast<size_t>(n / kSize)][static_cast<size_t>(cell(n % kSize))],
                      n == winner ? largest : 0.0F)
                << c << " " << i << " " << event << " " << n;
          }
        }
      }
      for (int64_t event = 0; event < 16; ++event)
        EXPECT_EQ(spread[0][static_cast<size_t>((c * kShape.cells + kShape.cells - 1) * 16 + event)], 0) << "left over";
    }
  }
}

// The compiler once saw through the generic loop, left it out, and the measurement never ended.
TEST(Peak, IsMeasuredOnEveryIsa) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa)) continue;
    const double peak = peak_gflops(isa);
    EXPECT_TRUE(peak > 0.1 && peak < 1e4) << to_string(isa) << ": " << peak;
  }
}

}  // namespace
}  // namespace linac::kernels
