#include "linac/physics/physics/shower_profile.h"

#include <gtest/gtest.h>

#include <cmath>

namespace linac::physics {
namespace {

// Lead glass-like numbers in a medium without sampling: the homogeneous formulas by hand.
constexpr EffectiveMedium kHomogeneous{.z = 50, .critical_energy_mev = 10, .layer_x0 = 0, .one_minus_e_hat = 0};

TEST(LongitudinalLaw, HomogeneousMedium) {
  const LongitudinalLaw law = longitudinal_law(10, kHomogeneous, Tuning::untuned());
  const double ln_y = std::log(1000.0);
  EXPECT_NEAR(std::exp(law.ln_maximum), ln_y - 0.812, 1e-9);
  EXPECT_NEAR(std::exp(law.ln_alpha), 0.81 + (0.458 + 2.26 / 50) * ln_y, 1e-9);
  EXPECT_NEAR(law.ln_maximum_sigma, 1 / (-2.5 + 1.25 * ln_y), 1e-9);
  EXPECT_NEAR(law.ln_alpha_sigma, 1 / (-0.82 + 0.79 * ln_y), 1e-9);
  EXPECT_NEAR(law.correlation, 0.784 - 0.023 * ln_y, 1e-9);
}

TEST(LongitudinalLaw, SamplingMovesTheMaximumForward) {
  const EffectiveMedium sampling{.z = 50, .critical_energy_mev = 10, .layer_x0 = 0.8, .one_minus_e_hat = 0.3};
  const Tuning paper = Tuning::untuned();
  const LongitudinalLaw law = longitudinal_law(10, sampling, paper),
                        homogeneous = longitudinal_law(10, kHomogeneous, paper);
  EXPECT_NEAR(std::exp(law.ln_maximum) - std::exp(homogeneous.ln_maximum), -0.55 * 0.8 - 0.69 * 0.3, 1e-9);
  EXPECT_NEAR(std::exp(law.ln_alpha) - std::exp(homogeneous.ln_alpha), -0.476 * 0.8, 1e-9);
}

TEST(LongitudinalLaw, LowEnergiesStayFinite) {
  for (const double energy_gev : {0.01, 0.05, 0.1, 0.5}) {
    const LongitudinalLaw law = longitudinal_law(energy_gev, kHomogeneous, {});
    EXPECT_GE(std::exp(law.ln_maximum), 0.99);
    EXPECT_GE(std::exp(law.ln_alpha), 1.19);
    EXPECT_LE(law.ln_maximum_sigma, 0.5);
    EXPECT_GT(law.ln_maximum_sigma, 0);
    EXPECT_GT(law.ln_alpha_sigma, 0);
  }
}

// At the maximum of a 10 GeV shower, written out.
TEST(RadialProfile, HomogeneousMedium) {
  const RadialLaw law = RadialProfile(10, kHomogeneous, Tuning::untuned()).at(1);
  const double ln_e = std::log(10.0);
  EXPECT_NEAR(law.core, 0.0251 + 0.00319 * ln_e + 0.1162 - 0.000381 * 50, 1e-9);
  EXPECT_NEAR(law.tail, (0.659 - 0.00309 * 50) * (std::exp(-2.59 * 0.355) + std::exp((0.3585 + 0.0412 * ln_e) * 0.355)),
              1e-9);
  const double bend = (0.401 + 0.00187 * 50 - 1) / (1.313 - 0.0686 * ln_e);
  EXPECT_NEAR(law.core_weight, (2.632 - 0.00094 * 50) * std::exp(bend - std::exp(bend)), 1e-9);
}

TEST(RadialProfile, WidensWithDepthAndStaysSane) {
  const RadialProfile profile(50, effective_medium(clic_ecal()), {});
  double core = 0;
  for (double tau = 0.6; tau < 4; tau += 0.2) {
    const RadialLaw law = profile.at(tau);
    EXPECT_GT(law.core, core);
    EXPECT_GT(law.tail, 0);
    EXPECT_GE(law.core_weight, 0);
    EXPECT_LE(law.core_weight, 1);
    core = law.core;
  }
}

TEST(SpotCount, GrowsAlmostWithTheEnergy) {
  const Tuning paper = Tuning::untuned();
  EXPECT_NEAR(spot_count(1, paper), 10.3 / paper.sampling_resolution, 1e-9);
  EXPECT_NEAR(spot_count(100, paper) / spot_count(10, paper), std::pow(10, 0.959), 1e-9);
}

}  // namespace
}  // namespace linac::physics
