#include "linac/model/kernels/max_pool.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "linac/base/base/rng.h"

namespace linac::kernels {
namespace {

/// Plain loops: the first largest cell of a window.
int64_t winner_of(const PoolShape& shape, const std::vector<float>& x, const Extent3& out, int64_t channel) {
  int64_t best = -1;
  for (int64_t k = 0; k < cells(shape.window); ++k) {
    const int64_t dx = k / (shape.window[1] * shape.window[2]), dy = k / shape.window[2] % shape.window[1];
    const int64_t px = out[0] * shape.window[0] + dx, py = out[1] * shape.window[1] + dy,
                  pz = out[2] * shape.window[2] + k % shape.window[2];
    const int64_t at = ((px * shape.in[1] + py) * shape.in[2] + pz) * shape.channels + channel;
    if (best < 0 || x[static_cast<size_t>(at)] > x[static_cast<size_t>(best)]) best = at;
  }
  return best;
}

void expect_as_plain_loops(Isa isa, const PoolShape& shape, float slope, bool with_bias) {
  std::vector<float> x(static_cast<size_t>(shape.in_floats())), bias(static_cast<size_t>(shape.channels)),
      y(static_cast<size_t>(shape.out_floats())), untold = y, gradient = y, x_gradient(x.size(), 9.0F),
                                                  wanted(x.size());
  std::vector<uint16_t> winners(static_cast<size_t>(shape.winners()));
  std::vector<double> bias_gradient(bias.size()), wanted_bias(bias.size());
  fill_uniform({.lane = 1}, x);
  for (float& value : x) value = std::floor(8 * value) - 4;  // many are equal
  fill_uniform({.lane = 2}, bias);
  fill_normal({.lane = 3}, gradient);
  const float* const given = with_bias ? bias.data() : nullptr;
  max_pool_forward(shape, x.data(), given, slope, y.data(), winners.data(), isa);
  max_pool_forward(shape, x.data(), given, slope, untold.data(), nullptr, isa);
  EXPECT_EQ(y, untold);
  max_pool_backward(shape, gradient.data(), y.data(), winners.data(), slope, x_gradient.data(), bias_gradient.data(),
                    isa);
  const Extent3 out = shape.out();
  for (int64_t cell = 0; cell < cells(out); ++cell) {
    const Extent3 at{cell / (out[1] * out[2]), cell / out[2] % out[1], cell % out[2]};
    for (int64_t c = 0; c < shape.channels; ++c) {
      const auto i = static_cast<size_t>(cell * shape.channels + c);
      const auto from = static_cast<size_t>(winner_of(shape, x, at, c));
      const float sum = x[from] + (with_bias ? bias[static_cast<size_t>(c)] : 0);
      ASSERT_EQ(y[i], sum > 0 ? sum : sum * slope) << cell << " " << c;
      wanted[from] = y[i] > 0 ? gradient[i] : gradient[i] * slope;
      wanted_bias[static_cast<size_t>(c)] += static_cast<double>(wanted[from]);
    }
  }
  EXPECT_EQ(x_gradient, wanted);
  for (size_t c = 0; c < wanted_bias.size(); ++c) EXPECT_NEAR(bias_gradient[c], wanted_bias[c], 1e-5);
}

TEST(MaxPool, IsThatOfPlainLoops) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa)) continue;
    SCOPED_TRACE(to_string(isa));
    expect_as_plain_loops(isa, {{1, 8, 6}, {1, 2, 2}, 32}, 0, true);
    expect_as_plain_loops(isa, {{1, 7, 9}, {1, 2, 4}, 67}, 0.3F, true);  // cells left over, a second part of channels
    expect_as_plain_loops(isa, {{5, 6, 7}, {2, 3, 2}, 3}, 1, false);
    expect_as_plain_loops(isa, {{1, 1, 11}, {1, 1, 3}, 1}, 0, true);
    expect_as_plain_loops(isa, {{4, 8, 8}, {4, 8, 8}, 5}, 0, true);  // as large as the image
    expect_as_plain_loops(isa, {{1, 2, 2}, {1, 1, 1}, 4}, 0.1F, true);
  }
}

TEST(MaxPool, NotANumberWins) {
  const float nan = std::numeric_limits<float>::quiet_NaN(), infinity = std::numeric_limits<float>::infinity();
  for (const std::vector<float>& x : {std::vector<float>{nan, 1, 2, 3}, {1, nan, infinity, 0}, {0, 1, 2, nan}}) {
    for (const Isa isa : kIsas) {
      if (!has_isa(isa)) continue;
      float y = 0;
      max_pool_forward({{1, 2, 2}, {1, 2, 2}, 1}, x.data(), nullptr, 0, &y, nullptr, isa);
      EXPECT_TRUE(std::isnan(y)) << to_string(isa);
    }
  }
}

}  // namespace
}  // namespace linac::kernels
