#include "linac/model/kernels/conv3d.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/base/rng.h"
#include "linac/model/kernels/blocked_conv.h"
#include "linac/model/kernels/fingerprint.h"
#include "linac/model/kernels/spectral_conv.h"

namespace linac::kernels {
namespace {

struct Case {
  Conv3dShape shape;
  int64_t events;
};

// Channels of every tile and beyond, extents that leave tails, paddings without symmetry or wider than the kernel.
const std::vector<Case> kCases = {
    {{{5, 6, 7}, 1, {2, 3, 2}, 1, {}, {}}, 1},
    {{{6, 5, 9}, 2, {3, 2, 4}, 3, {1, 0, 2}, {0, 1, 1}}, 5},
    {{{7, 7, 19}, 6, {4, 4, 6}, 6, {2, 2, 1}, {2, 2, 1}}, 16},
    {{{6, 7, 25}, 1, {5, 6, 6}, 16, {2, 2, 2}, {2, 3, 3}}, 17},
    {{{6, 7, 25}, 16, {5, 6, 6}, 8, {0, 0, 1}, {0, 0, 1}}, 16},
    {{{5, 5, 13}, 8, {2, 2, 2}, 6, {}, {}}, 33},
    {{{4, 4, 31}, 3, {1, 1, 1}, 17, {}, {}}, 2},
    {{{3, 4, 5}, 5, {3, 4, 5}, 9, {}, {}}, 4},
    {{{2, 3, 3}, 4, {2, 2, 2}, 5, {3, 2, 3}, {2, 4, 5}}, 3},
    {{{4, 3, 11}, 7, {2, 3, 3}, 7, {0, 1, 0}, {1, 1, 2}}, 7},
    {{{3, 3, 12}, 10, {2, 1, 3}, 4, {0, 0, 1}, {0, 0, 1}}, 15},
    {{{3, 3, 29}, 2, {2, 2, 3}, 2, {0, 0, 1}, {0, 0, 1}}, 16},
    {{{14, 4, 13}, 3, {2, 2, 2}, 1, {}, {}}, 16},
    {{{21, 5, 9}, 2, {3, 3, 2}, 2, {0, 1, 0}, {0, 2, 0}}, 5},
    {{{12, 3, 5}, 1, {8, 1, 1}, 1, {}, {}}, 3},
    {{{4, 5, 6}, 2, {1, 2, 3}, 8, {0, 3, 0}, {}}, 16},
    {{{9, 3, 3}, 3, {2, 2, 1}, 13, {0, 0, 3}, {0, 0, 0}}, 20},
};

using Floats = std::vector<float>;
using Doubles = std::vector<double>;

Floats random_floats(int64_t count, uint32_t stream) {
  Floats values(static_cast<size_t>(count));
  RngKey key;
  key.lane = stream;
  fill_uniform(key, values);
  for (float& value : values) value = value * 2 - 1;
  return values;
}

struct Problem {
  Floats in, weights, bias, out_gradient;
  explicit Problem(const Case& c)
      : in(random_floats(c.events * c.shape.in_floats(), 1)),
        weights(random_floats(c.shape.weights(), 2)),
        bias(random_floats(c.shape.out_channels, 3)),
        out_gradient(random_floats(c.events * c.shape.out_floats(), 4)) {}
};

struct Result {
  Floats out, in_gradient, weight_gradient, bias_gradient;
  bool operator==(const Result&) const = default;
};

struct Kernels {
  Isa isa;
  ConvMethod method;

  bool can(const Case& c) const { return method == ConvMethod::kDirect || SpectralConv3d::possible(c.shape); }
};

Result compute(const Case& c, const Problem& problem, const Kernels& kernels) {
  const auto floats = [](int64_t count) { return Floats(static_cast<size_t>(count), std::nanf("")); };
  Result result{floats(c.events * c.shape.out_floats()), floats(c.events * c.shape.in_floats()),
                floats(c.shape.weights()), floats(c.shape.out_channels)};
  conv3d_forward(c.shape, c.events, problem.in.data(), problem.weights.data(), problem.bias.data(), result.out.data(),
                 kernels.method, kernels.isa);
  conv3d_backward_data(c.shape, c.events, problem.out_gradient.data(), problem.weights.data(),
                       result.in_gradient.data(), kernels.method, kernels.isa);
  conv3d_backward_weights(c.shape, c.events, problem.in.data(), problem.out_gradient.data(),
                          result.weight_gradient.data(), result.bias_gradient.data(), kernels.method, kernels.isa);
  return result;
}

struct Truth {
  Doubles out, in_gradient, weight_gradient, bias_gradient;
};

// What the definition says, term by term, in double precision.
class Reference {
 public:
  Reference(const Case& c, const Problem& problem) : shape_(c.shape), problem_(problem) {
    const auto doubles = [](int64_t count) { return Doubles(static_cast<size_t>(count)); };
    truth = {doubles(c.events * shape_.out_floats()), doubles(c.events * shape_.in_floats()), doubles(shape_.weights()),
             doubles(shape_.out_channels)};
    const Extent3 out = shape_.out();
    for (int64_t event = 0; event < c.events; ++event)
      for (int64_t x = 0; x < out[0]; ++x)
        for (int64_t y = 0; y < out[1]; ++y)
          for (int64_t z = 0; z < out[2]; ++z) add_cell(event, {x, y, z});
  }

  Truth truth;

 private:
  static size_t index(int64_t event, const Extent3& at, const Extent3& extent, int64_t channels) {
    return static_cast<size_t>((((event * extent[0] + at[0]) * extent[1] + at[1]) * extent[2] + at[2]) * channels);
  }

  void add_cell(int64_t event, const Extent3& cell) {
    const size_t out = index(event, cell, shape_.out(), shape_.out_channels);
    for (size_t c = 0; c < static_cast<size_t>(shape_.out_channels); ++c) {
      truth.out[out + c] += problem_.bias[c];
      truth.bias_gradient[c] += problem_.out_gradient[out + c];
    }
    const Extent3& kernel = shape_.kernel;
    for (int64_t kx = 0; kx < kernel[0]; ++kx)
      for (int64_t ky = 0; ky < kernel[1]; ++ky)
        for (int64_t kz = 0; kz < kernel[2]; ++kz) add_tap(event, out, cell, {kx, ky, kz});
  }

  void add_tap(int64_t event, size_t out, const Extent3& cell, const Extent3& tap) {
    Extent3 at;
    for (size_t i = 0; i < 3; ++i) {
      at[i] = cell[i] + tap[i] - shape_.before[i];
      if (at[i] < 0 || at[i] >= shape_.in[i]) return;
    }
    const size_t in = index(event, at, shape_.in, shape_.in_channels);
    size_t weight = index(0, tap, shape_.kernel, shape_.in_channels * shape_.out_channels);
    for (size_t i = 0; i < static_cast<size_t>(shape_.in_channels); ++i) {
      for (size_t c = 0; c < static_cast<size_t>(shape_.out_channels); ++c, ++weight) {
        const double x = problem_.in[in + i], w = problem_.weights[weight], g = problem_.out_gradient[out + c];
        truth.out[out + c] += x * w;
        truth.in_gradient[in + i] += g * w;
        truth.weight_gradient[weight] += g * x;
      }
    }
  }

  const Conv3dShape shape_;
  const Problem& problem_;
};

void expect_near(const Floats& values, const Doubles& truth, const char* what) {
  ASSERT_EQ(values.size(), truth.size());
  double square = 0, largest = 0;
  for (size_t i = 0; i < truth.size(); ++i) {
    square += truth[i] * truth[i];
    largest = std::max(largest, std::abs(values[i] - truth[i]));
    ASSERT_FALSE(std::isnan(values[i])) << what << " not written at " << i;
  }
  EXPECT_LT(largest, 1e-5 * (1 + std::sqrt(square / static_cast<double>(truth.size())))) << what;
}

class Conv3d : public testing::TestWithParam<Kernels> {
 protected:
  void SetUp() override {
    if (!has_isa(GetParam().isa)) GTEST_SKIP() << "this processor lacks it";
  }
};

TEST_P(Conv3d, EqualsTheDefinition) {
  for (size_t i = 0; i < kCases.size(); ++i) {
    if (!GetParam().can(kCases[i])) continue;  // padding wider than the kernel
    SCOPED_TRACE(testing::Message() << "case " << i);
    const Problem problem(kCases[i]);
    const Result result = compute(kCases[i], problem, GetParam());
    const Truth truth = Reference(kCases[i], problem).truth;
    expect_near(result.out, truth.out, "out");
    expect_near(result.in_gradient, truth.in_gradient, "in_gradient");
    expect_near(result.weight_gradient, truth.weight_gradient, "weight_gradient");
    expect_near(result.bias_gradient, truth.bias_gradient, "bias_gradient");
  }
}

TEST_P(Conv3d, BiasMayBeAbsent) {
  const Case& c = kCases[1];
  Problem problem(c);
  problem.bias.assign(problem.bias.size(), 0.0F);
  const Result with = compute(c, problem, GetParam());
  Result without = with;
  conv3d_forward(c.shape, c.events, problem.in.data(), problem.weights.data(), nullptr, without.out.data(),
                 GetParam().method, GetParam().isa);
  conv3d_backward_weights(c.shape, c.events, problem.in.data(), problem.out_gradient.data(),
                          without.weight_gradient.data(), nullptr, GetParam().method, GetParam().isa);
  EXPECT_EQ(with, without);
}

TEST_P(Conv3d, AnEventDoesNotSeeItsNeighbours) {
  const Case& c = kCases[3];
  const Problem problem(c);
  const Result all = compute(c, problem, GetParam());
  // The same events one at a time, and from addresses that are no multiple of anything.
  Floats shifted(static_cast<size_t>(c.shape.in_floats()) + 1), out(static_cast<size_t>(c.shape.out_floats()) + 1);
  for (int64_t event = 0; event < c.events; ++event) {
    std::copy_n(problem.in.begin() + event * c.shape.in_floats(), c.shape.in_floats(), shifted.begin() + 1);
    conv3d_forward(c.shape, 1, shifted.data() + 1, problem.weights.data(), problem.bias.data(), out.data() + 1,
                   GetParam().method, GetParam().isa);
    const Floats alone(out.begin() + 1, out.end());
    const auto* const first = all.out.data() + event * c.shape.out_floats();
    EXPECT_EQ(alone, Floats(first, first + c.shape.out_floats())) << "event " << event;
  }
}

std::vector<Kernels> all_kernels() {
  std::vector<Kernels> all;
  for (const Isa isa : kIsas)
    for (const ConvMethod method : {ConvMethod::kDirect, ConvMethod::kSpectral}) all.push_back({isa, method});
  return all;
}

INSTANTIATE_TEST_SUITE_P(AllIsas, Conv3d, testing::ValuesIn(all_kernels()), [](const auto& info) {
  return std::string(to_string(info.param.method)) + "_" + to_string(info.param.isa);
});

// A change of a kernel's order of summation changes the number; then all instruction sets must agree on the new one.
TEST(Conv3dIsas, AllThatFuseGiveTheSameBitsOnEveryProcessor) {
  for (const Isa isa : kIsas) {
    if (!has_isa(isa) || isa == Isa::kGeneric) continue;
    Fingerprint fingerprint;
    for (const Case& c : kCases) {
      const Problem problem(c);
      for (const ConvMethod method : {ConvMethod::kDirect, ConvMethod::kSpectral}) {
        const Kernels kernels{isa, method};
        if (!kernels.can(c)) continue;
        const Result result = compute(c, problem, kernels);
        for (const Floats* values : {&result.out, &result.in_gradient, &result.weight_gradient, &result.bias_gradient})
          fingerprint.add(*values);
      }
    }
    EXPECT_EQ(fingerprint.value(), 15183561825021276724U) << to_string(isa);
  }
}

TEST(Conv3dMethods, ManyTapsAreTransformedAndFewAreNot) {
  EXPECT_EQ(choose_method({{51, 51, 25}, 16, {5, 6, 6}, 8, {0, 0, 1}, {0, 0, 1}}), ConvMethod::kSpectral);
  EXPECT_EQ(choose_method({{50, 50, 38}, 6, {4, 4, 6}, 6, {2, 2, 1}, {2, 2, 1}}), ConvMethod::kSpectral);
  EXPECT_EQ(choose_method({{52, 52, 28}, 6, {3, 3, 3}, 6, {1, 1, 0}, {1, 1, 0}}), ConvMethod::kDirect);
  EXPECT_EQ(choose_method({{52, 52, 26}, 6, {2, 2, 2}, 1, {}, {}}), ConvMethod::kDirect);
  EXPECT_EQ(choose_method({{8, 200, 8}, 8, {5, 5, 5}, 8, {}, {}}), ConvMethod::kDirect) << "no transform of 200 points";
}

TEST(Isa, TheEnvironmentLowersIt) {
  // In a child process each: best_isa() is decided once.
  testing::GTEST_FLAG(death_test_style) = "threadsafe";
  const auto exit_status = [](const char* wanted) {
    setenv("LINAC_ISA", wanted, 1);
    try {
      std::exit(best_isa() == Isa::kGeneric ? 42 : 43);
    } catch (const Error& error) {
      std::fprintf(stderr, "%s\n", error.what());
      std::exit(static_cast<int>(error.code()));
    }
  };
  EXPECT_EXIT(exit_status("generic"), testing::ExitedWithCode(42), "");
  EXPECT_EXIT(exit_status("sse9"), testing::ExitedWithCode(2), "LINAC_ISA=sse9: no such instruction set");
}

}  // namespace
}  // namespace linac::kernels
