#include "linac/model/models/threedgan/likeness.h"

#include <ATen/core/grad_mode.h>
#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "linac/base/base/rng.h"

namespace linac::models::threedgan {
namespace {

constexpr int64_t kX = 5, kY = 6, kZ = 4, kCells = kX * kY * kZ;

at::Tensor uniform(at::IntArrayRef shape, uint32_t lane) {
  at::Tensor values = at::empty(shape, at::kFloat);
  fill_uniform({.seed = 5, .lane = lane}, {values.data_ptr<float>(), static_cast<size_t>(values.numel())});
  return values;
}

// Showers whose cells fluctuate by a factor between 0 and 2 about `mean`, (X, Y, Z).
at::Tensor showers(int64_t n, const at::Tensor& mean, uint32_t lane) {
  return 2 * uniform({n, kX, kY, kZ}, lane) * mean;
}

struct Primaries {
  explicit Primaries(int64_t n) : energy(0.1 + 0.9 * uniform({n, 1}, 90)), angle(1 + uniform({n, 1}, 91)) {}
  at::Tensor energy, angle;
};

const at::Tensor kFlat = at::ones({kX, kY, kZ});

// Mean over many batches and its error.
template <class Value>
std::pair<double, double> average(const Value& value, int batches = 400) {
  double sum = 0, squares = 0;
  for (int i = 0; i < batches; ++i) {
    const double v = value(static_cast<uint32_t>(1000 + 2 * i)).template item<double>();
    sum += v;
    squares += v * v;
  }
  const double mean = sum / batches;
  return {mean, std::sqrt((squares / batches - mean * mean) / batches)};
}

TEST(Likeness, FluctuationsAloneAreNoDistance) {
  const Primaries primaries(8);
  const auto [profiles, profile_error] = average([&](uint32_t lane) {
    return Likeness{showers(8, kFlat, lane), showers(8, kFlat, lane + 1), primaries.energy, primaries.angle}.profiles();
  });
  EXPECT_LT(std::abs(profiles), 4 * profile_error);
  const auto [spectrum, spectrum_error] = average([&](uint32_t lane) {
    return Likeness{showers(8, kFlat, lane), showers(8, kFlat, lane + 1), primaries.energy, primaries.angle}.spectrum();
  });
  EXPECT_LT(std::abs(spectrum), 4 * spectrum_error);
  const auto [observables, observables_error] = average([&](uint32_t lane) {
    return Likeness{showers(8, kFlat, lane), showers(8, kFlat, lane + 1), primaries.energy, primaries.angle}
        .observables();
  });
  EXPECT_LT(std::abs(observables), 4 * observables_error + 0.01);
}

// A tenth more in all cells: each of the three profiles is off by a tenth of its shares, which add up to one.
TEST(Likeness, ADistanceIsThatOfTheMeans) {
  const Primaries primaries(8);
  const auto [value, error] = average([&](uint32_t lane) {
    return Likeness{1.1 * showers(8, kFlat, lane), showers(8, kFlat, lane + 1), primaries.energy, primaries.angle}
        .profiles();
  });
  EXPECT_NEAR(value, 3 * 0.01, 4 * error);
  EXPECT_LT(error, 0.002);
}

// Too much at high energies and as much too little at low ones: the mean over all is right.
TEST(Likeness, WhatCancelsInTheMeanCounts) {
  const Primaries primaries(16);
  const at::Tensor log_energy = at::log(primaries.energy);
  const at::Tensor tilt = (log_energy - log_energy.mean()) / log_energy.std(false);
  const at::Tensor real = showers(16, kFlat, 1);
  const at::Tensor generated = real * (1 + 0.1 * tilt).reshape({16, 1, 1, 1});
  EXPECT_GT((Likeness{generated, real, primaries.energy, primaries.angle}.profiles().item<double>()), 0.02);
}

// Responses of the right mean that fluctuate twice as much.
TEST(Likeness, ASpreadThatIsTooLargeCounts) {
  const Primaries primaries(16);
  const auto batch = [&](double spread, uint32_t lane) {
    const at::Tensor factor = 1 + spread * (uniform({16, 1, 1, 1}, lane + 5000) - 0.5);
    return showers(16, kFlat, lane) * factor * primaries.energy.reshape({16, 1, 1, 1});
  };
  const auto [value, error] = average([&](uint32_t lane) {
    return Likeness{batch(1.0, lane), batch(0.5, lane + 1), primaries.energy, primaries.angle}.observables();
  });
  EXPECT_GT(value, 4 * error);
}

TEST(Likeness, GradientsAreThoseOfFiniteDifferences) {
  const Primaries primaries(4);
  const at::Tensor real = showers(4, kFlat, 1), start = showers(4, kFlat, 2);
  const auto check = [&](at::Tensor (Likeness::*distance)() const) {
    at::Tensor generated = start.clone().set_requires_grad(true);
    (Likeness{generated, real, primaries.energy, primaries.angle}.*distance)().backward();
    const at::Tensor direction = uniform({4, kX, kY, kZ}, 7) - 0.5;
    const double slope = (generated.grad() * direction).sum().item<double>();
    const at::NoGradGuard no_gradient;
    const auto at_step = [&](double step) {
      const Likeness moved{(start + step * direction).to(at::kDouble), real.to(at::kDouble),
                           primaries.energy.to(at::kDouble), primaries.angle.to(at::kDouble)};
      return (moved.*distance)().item<double>();
    };
    EXPECT_NEAR(slope, (at_step(1e-3) - at_step(-1e-3)) / 2e-3, 1e-3 * std::abs(slope) + 1e-6);
    EXPECT_GT(std::abs(slope), 1e-5);
  };
  check(&Likeness::profiles);
  check(&Likeness::spectrum);
  check(&Likeness::observables);
}

// Empty batches, of one or of the other, and an event alone: finite values and finite gradients.
TEST(Likeness, StaysFinite) {
  const Primaries primaries(4);
  const at::Tensor empty = at::zeros({4, kX, kY, kZ}), full = showers(4, kFlat, 1);
  for (const auto& [generated, real] : {std::pair{empty, full}, std::pair{full, empty}, std::pair{empty, empty}}) {
    at::Tensor cells = generated.clone().set_requires_grad(true);
    const Likeness likeness{cells, real, primaries.energy, primaries.angle};
    const at::Tensor sum = likeness.profiles() + likeness.spectrum() + likeness.observables();
    sum.backward();
    EXPECT_TRUE(std::isfinite(sum.item<float>()));
    EXPECT_TRUE(at::isfinite(cells.grad()).all().item<bool>());
  }
  const Likeness alone{full.slice(0, 0, 1), full.slice(0, 1, 2), primaries.energy.slice(0, 0, 1),
                       primaries.angle.slice(0, 0, 1)};
  EXPECT_EQ(alone.profiles().item<float>(), 0);
  EXPECT_EQ(alone.spectrum().item<float>(), 0);
  EXPECT_EQ(alone.observables().item<float>(), 0);
}

}  // namespace
}  // namespace linac::models::threedgan
