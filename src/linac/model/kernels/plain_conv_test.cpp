#include "linac/model/kernels/plain_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/kernels/fingerprint.h"

namespace linac::kernels {
namespace {

std::vector<float> normal(int64_t count, uint32_t lane) {
  std::vector<float> values(static_cast<size_t>(count));
  fill_normal({.seed = 9, .lane = lane}, values);
  return values;
}

/// Calls what(index of x, number of the tap, channel in, cell of y) for each cell, tap and channel that meet.
template <class What>
void for_each_meeting(const PlainConvShape& s, int64_t events, const What& what) {
  for (int64_t cell = 0; cell < events * s.out_y * s.out_x; ++cell) {
    const int64_t event = cell / (s.out_y * s.out_x), y = cell / s.out_x % s.out_y, x = cell % s.out_x;
    for (int64_t tap = 0; tap < s.kernel_y * s.kernel_x; ++tap) {
      const int64_t in_y = y * s.stride_y + tap / s.kernel_x - s.before_y,
                    in_x = x * s.stride_x + tap % s.kernel_x - s.before_x;
      if (in_y < 0 || in_y >= s.in_y || in_x < 0 || in_x >= s.in_x) continue;
      for (int64_t i = 0; i < s.in_channels; ++i)
        what(static_cast<size_t>(((event * s.in_y + in_y) * s.in_x + in_x) * s.in_channels + i), tap, i, cell);
    }
  }
}

void expect_near(const std::vector<float>& values, const std::vector<double>& wanted, const char* what) {
  double largest = 0;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  ASSERT_EQ(values.size(), wanted.size());
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(static_cast<double>(values[i]), wanted[i], 2e-6 * largest) << what << " " << i;
}

double finished(double sum, const Finish& finish, int64_t channel) {
  sum += finish.bias == nullptr ? 0 : double{finish.bias[channel]};
  return sum > 0 ? sum : sum * double{finish.slope};
}

/// The others' results have to be the first one's, except those of kGeneric, and `fingerprint` theirs.
template <class Compute>
void expect_same_bits(uint64_t wanted, const Compute& compute) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa) || isa == Isa::kGeneric) continue;
    Fingerprint fingerprint;
    fingerprint.add(compute(isa));
    EXPECT_EQ(fingerprint.value(), wanted) << to_string(isa);
  }
}

TEST(PlainConv, FewChannelsAreThePlainSum) {
  constexpr int64_t kEvents = 3;
  const std::vector<PlainConvShape> shapes{{9, 8, 3, 9, 8, 32, 1, 1},
                                           {7, 11, 1, 4, 4, 16, 2, 1, 5, 4, 2, 3},
                                           {6, 5, 8, 5, 3, 48, 0, 0, 2, 3, 1, 1},
                                           {5, 6, 2, 3, 3, 16, 0, 0, 1, 1, 2, 2}};
  const std::vector<uint64_t> fingerprints{15519928037705562578U, 6561746247236855880U, 3377472693334668230U,
                                           12868887506251773503U};
  for (size_t number = 0; number < shapes.size(); ++number) {
    SCOPED_TRACE(number);
    const PlainConvShape& s = shapes[number];
    const auto x = normal(kEvents * s.in_floats(), 1), kernel = normal(s.kernel_floats(), 2),
               bias = normal(s.out_channels, 3), dy = normal(kEvents * s.out_floats(), 4);
    const Finish finish{bias.data(), 0.25F};
    std::vector<double> y(dy.size()), dk(kernel.size());
    for_each_meeting(s, kEvents, [&](size_t at, int64_t tap, int64_t i, int64_t cell) {
      for (int64_t o = 0; o < s.out_channels; ++o) {
        const auto k = static_cast<size_t>((tap * s.in_channels + i) * s.out_channels + o),
                   to = static_cast<size_t>(cell * s.out_channels + o);
        y[to] += double{x[at]} * double{kernel[k]};
        dk[k] += double{x[at]} * double{dy[to]};
      }
    });
    for (size_t i = 0; i < y.size(); ++i) y[i] = finished(y[i], finish, static_cast<int64_t>(i) % s.out_channels);
    const auto compute = [&](Isa isa) {
      std::vector<float> own(dy.size()), gradient(kernel.size());
      std::vector<double> sums(bias.size());
      rows_forward(s, x.data(), kEvents, kernel.data(), finish, own.data(), isa);
      rows_backward_kernel(s, x.data(), dy.data(), kEvents, gradient.data(), sums.data(), isa);
      expect_near(own, y, "y");
      expect_near(gradient, dk, "gradient of the kernel");
      own.insert(own.end(), gradient.begin(), gradient.end());
      for (size_t c = 0; c < sums.size(); ++c) {
        double sum = 0;
        for (size_t i = c; i < dy.size(); i += sums.size()) sum += double{dy[i]};
        EXPECT_NEAR(sums[c], sum, 1e-4);
        own.push_back(static_cast<float>(sums[c]));
      }
      return own;
    };
    if (has_isa(Isa::kGeneric)) compute(Isa::kGeneric);
    expect_same_bits(fingerprints[number], compute);
  }
}

TEST(PlainConv, DepthwiseAndSeparableAreThePlainSum) {
  constexpr int64_t kEvents = 2;
  const std::vector<PlainConvShape> shapes{
      {9, 8, 16, 9, 8, 16, 1, 1}, {6, 13, 48, 4, 11, 48, 0, 0}, {1, 2, 32, 1, 2, 32, 1, 1}, {4, 3, 16, 6, 5, 16, 2, 2}};
  const std::vector<uint64_t> fingerprints{5843722933884638969U, 15977597107770419126U, 12117552063069611054U,
                                           3400329018559564387U};
  for (size_t number = 0; number < shapes.size(); ++number) {
    SCOPED_TRACE(number);
    const PlainConvShape& s = shapes[number];
    PlainConvShape separable = s;
    separable.out_channels = 32;
    const auto x = normal(kEvents * s.in_floats(), 1), kernel = normal(9 * s.in_channels, 2),
               dy = normal(kEvents * s.out_floats(), 3), points = normal(s.in_channels * 32, 4), bias = normal(32, 5);
    const Finish finish{bias.data(), 0};
    std::vector<double> y(dy.size()), dk(kernel.size()), whole(static_cast<size_t>(kEvents * separable.out_floats()));
    for_each_meeting(s, kEvents, [&](size_t at, int64_t tap, int64_t i, int64_t cell) {
      const auto k = static_cast<size_t>(tap * s.in_channels + i), to = static_cast<size_t>(cell * s.in_channels + i);
      y[to] += double{x[at]} * double{kernel[k]};
      dk[k] += double{x[at]} * double{dy[to]};
    });
    for (size_t i = 0; i < whole.size(); ++i) {
      for (int64_t c = 0; c < s.in_channels; ++c)
        whole[i] += y[i / 32 * static_cast<size_t>(s.in_channels) + static_cast<size_t>(c)] *
                    double{points[static_cast<size_t>(c) * 32 + i % 32]};
      whole[i] = finished(whole[i], finish, static_cast<int64_t>(i % 32));
    }
    const auto compute = [&](Isa isa) {
      std::vector<float> own(dy.size()), gradient(kernel.size()), both(whole.size());
      depthwise_forward(s, x.data(), kEvents, kernel.data(), own.data(), isa);
      depthwise_backward_kernel(s, x.data(), dy.data(), kEvents, gradient.data(), isa);
      separable_forward(separable, x.data(), kEvents, kernel.data(), points.data(), finish, both.data(), isa);
      expect_near(own, y, "y");
      expect_near(gradient, dk, "gradient of the kernel");
      expect_near(both, whole, "separable");
      own.insert(own.end(), gradient.begin(), gradient.end());
      own.insert(own.end(), both.begin(), both.end());
      return own;
    };
    if (has_isa(Isa::kGeneric)) compute(Isa::kGeneric);
    expect_same_bits(fingerprints[number], compute);
  }
}

}  // namespace
}  // namespace linac::kernels
