#include "linac/model/kernels/winograd_conv.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/base/base/rng.h"
#include "linac/model/kernels/fingerprint.h"
#include "linac/model/kernels/max_pool.h"

namespace linac::kernels {
namespace {

std::vector<float> normal(int64_t count, uint32_t lane) {
  std::vector<float> values(static_cast<size_t>(count));
  fill_normal({.seed = 5, .lane = lane}, values);
  return values;
}

struct Case {
  PlainConvShape shape;
  int64_t events;
  std::vector<float> x, kernel, bias, gradient;

  Case(const PlainConvShape& shape, int64_t events)
      : shape(shape),
        events(events),
        x(normal(events * shape.in_floats(), 1)),
        kernel(normal(9 * shape.in_channels * shape.out_channels, 2)),
        bias(normal(shape.out_channels, 3)),
        gradient(normal(events * shape.out_floats(), 4)) {}
};

/// Calls what(index of x, index of the kernel, index of y) for each product of the plain sum.
template <class What>
void for_each_product(const Case& c, const What& what) {
  const PlainConvShape& s = c.shape;
  for (int64_t cell = 0; cell < c.events * s.out_y * s.out_x; ++cell) {
    const int64_t event = cell / (s.out_y * s.out_x), y = cell / s.out_x % s.out_y, x = cell % s.out_x;
    for (int64_t tap = 0; tap < 9; ++tap) {
      const int64_t in_y = y + tap / 3 - s.before_y, in_x = x + tap % 3 - s.before_x;
      if (in_y < 0 || in_y >= s.in_y || in_x < 0 || in_x >= s.in_x) continue;
      for (int64_t i = 0; i < s.in_channels; ++i) {
        for (int64_t o = 0; o < s.out_channels; ++o)
          what(static_cast<size_t>(((event * s.in_y + in_y) * s.in_x + in_x) * s.in_channels + i),
               static_cast<size_t>((tap * s.in_channels + i) * s.out_channels + o),
               static_cast<size_t>(cell * s.out_channels + o));
      }
    }
  }
}

void expect_near(const std::vector<float>& values, const std::vector<double>& wanted, const char* what) {
  double largest = 0;
  for (const double value : wanted) largest = std::max(largest, std::abs(value));
  for (size_t i = 0; i < wanted.size(); ++i)
    ASSERT_NEAR(static_cast<double>(values[i]), wanted[i], 3e-6 * largest) << what << " " << i;
}

std::vector<float> forward(const Case& c, const Finish& finish, Isa isa) {
  std::vector<float> kernel(static_cast<size_t>(winograd_floats(c.shape))), y(c.gradient.size());
  winograd_kernel(c.shape, c.kernel.data(), false, kernel.data());
  winograd_forward(c.shape, c.x.data(), c.events, kernel.data(), {.finish = finish, .y = y.data()}, isa);
  return y;
}

struct Gradients {
  std::vector<float> x, kernel;
  std::vector<double> bias;
};

Gradients backward(const Case& c, Isa isa) {
  const PlainConvShape back = turned_back(c.shape);
  std::vector<float> turned(static_cast<size_t>(winograd_floats(c.shape))), sums(turned.size());
  Gradients g{std::vector<float>(c.x.size()), std::vector<float>(c.kernel.size()), std::vector<double>(c.bias.size())};
  winograd_kernel(c.shape, c.kernel.data(), true, turned.data());
  winograd_forward(back, c.gradient.data(), c.events, turned.data(), {.y = g.x.data()}, isa);
  winograd_backward_kernel(c.shape, c.x.data(), c.gradient.data(), c.events, sums.data(), g.bias.data(), isa);
  winograd_kernel_gradient(c.shape, sums.data(), g.kernel.data());
  return g;
}

const Case& cases(size_t number) {
  static const std::vector<Case> all{
      {{8, 8, 16, 8, 8, 32, 1, 1}, 3},   // padding "same"
      {{7, 10, 32, 5, 8, 16, 0, 0}, 2},  // "valid", an odd number of rows
      {{5, 3, 48, 5, 3, 80, 1, 1}, 5},   // odd both ways
      {{4, 4, 16, 6, 5, 16, 2, 1}, 1},   // more zeros than image
  };
  return all.at(number);
}
constexpr size_t kCases = 4;

TEST(WinogradConv, IsThePlainSum) {
  for (size_t number = 0; number < kCases; ++number) {
    const Case& c = cases(number);
    SCOPED_TRACE(number);
    std::vector<double> y(c.gradient.size()), dx(c.x.size()), dk(c.kernel.size());
    for_each_product(c, [&](size_t x, size_t k, size_t at) {
      y[at] += double{c.x[x]} * double{c.kernel[k]};
      dx[x] += double{c.gradient[at]} * double{c.kernel[k]};
      dk[k] += double{c.gradient[at]} * double{c.x[x]};
    });
    std::vector<double> db(c.bias.size());
    for (size_t i = 0; i < c.gradient.size(); ++i) db[i % db.size()] += double{c.gradient[i]};
    for (size_t i = 0; i < y.size(); ++i) {
      const double sum = y[i] + double{c.bias[i % c.bias.size()]};
      y[i] = sum > 0 ? sum : 0.25 * sum;
    }
    for (const Isa isa : kIsas) {
      if (!has_isa(isa)) continue;
      SCOPED_TRACE(to_string(isa));
      expect_near(forward(c, {c.bias.data(), 0.25F}, isa), y, "y");
      const Gradients gradients = backward(c, isa);
      expect_near(gradients.x, dx, "gradient of x");
      expect_near(gradients.kernel, dk, "gradient of the kernel");
      for (size_t i = 0; i < db.size(); ++i) EXPECT_NEAR(gradients.bias[i], db[i], 1e-4);
    }
  }
}

TEST(WinogradConv, FusedInstructionSetsGiveTheSameBits) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa) || isa == Isa::kGeneric) continue;
    Fingerprint fingerprint;
    for (size_t number = 0; number < kCases; ++number) {
      const Case& c = cases(number);
      const Gradients gradients = backward(c, isa);
      for (const auto* values : {&gradients.x, &gradients.kernel}) fingerprint.add(*values);
      fingerprint.add(forward(c, {c.bias.data(), 0}, isa));
      fingerprint.add(std::vector<float>(gradients.bias.begin(), gradients.bias.end()));
    }
    EXPECT_EQ(fingerprint.value(), 15715068006267923817U) << to_string(isa);
  }
}

TEST(WinogradConv, AnEventsResultDoesNotDependOnTheOthers) {
  const Case& c = cases(2);
  const std::vector<float> together = forward(c, {c.bias.data(), 0}, best_isa());
  Case one(c.shape, 1);
  for (int64_t event = 0; event < c.events; ++event) {
    std::copy_n(c.x.begin() + event * c.shape.in_floats(), c.shape.in_floats(), one.x.begin());
    const std::vector<float> alone = forward(one, {c.bias.data(), 0}, best_isa());
    EXPECT_TRUE(std::equal(alone.begin(), alone.end(), together.begin() + event * c.shape.out_floats())) << event;
  }
}

// Images with equal cells: the first largest one has the gradient.
TEST(WinogradConv, PooledIsTheMaxPoolingOfItsCells) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa)) continue;
    for (size_t number = 0; number < kCases; ++number) {
      Case c = cases(number);
      SCOPED_TRACE(number);
      for (float& value : c.x) value = std::round(value);
      for (float& value : c.kernel) value = 2 * std::round(value);
      const PoolShape pool{{1, c.shape.out_y, c.shape.out_x}, {1, 2, 2}, c.shape.out_channels};
      const std::vector<float> cells = forward(c, {}, isa);
      std::vector<float> kernel(static_cast<size_t>(winograd_floats(c.shape)));
      winograd_kernel(c.shape, c.kernel.data(), false, kernel.data());
      const auto events = static_cast<size_t>(c.events);
      std::vector<float> y(events * static_cast<size_t>(pool.out_floats())), wanted = y;
      std::vector<uint16_t> winners(events * static_cast<size_t>(pool.winners())), wanted_winners = winners;
      winograd_forward(c.shape, c.x.data(), c.events, kernel.data(),
                       {.finish = {c.bias.data(), 0.5F}, .pooled = true, .y = y.data(), .winners = winners.data()},
                       isa);
      for (int64_t i = 0; i < c.events; ++i)
        max_pool_forward(pool, cells.data() + i * pool.in_floats(), c.bias.data(), 0.5F,
                         wanted.data() + i * pool.out_floats(), wanted_winners.data() + i * pool.winners(), isa);
      EXPECT_EQ(y, wanted);
      EXPECT_EQ(winners, wanted_winners);
    }
  }
}

}  // namespace
}  // namespace linac::kernels
