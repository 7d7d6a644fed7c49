#include "linac/physics/physics/shower_profile.h"

#include <algorithm>
#include <cmath>

namespace linac::physics {
namespace {

constexpr double kSigmaMax = 0.5;          // of ln T and ln alpha, where the fits of the spreads diverge
constexpr double kMaximumSmallest_x0 = 1;  // T and alpha of energies far below the fits' range
constexpr double kAlphaSmallest = 1.2;
constexpr double kRadiusSmallest = 0.002;  // where the sampling terms would turn a radius negative

double spread(double constant, double slope, double ln_y, double scale) {
  const double inverse = constant + slope * ln_y;
  return scale * (inverse > 1 / kSigmaMax ? 1 / inverse : kSigmaMax);
}

}  // namespace

// The paper leaves the sampling resolution to the detector, here that of a silicon-tungsten stack, and cuts no radius.
Tuning Tuning::untuned() {
  return {.visible_scale = 1,
          .maximum_shift_x0 = 0,
          .maximum_slope = 1,
          .alpha_shift = 0,
          .alpha_slope = 1,
          .maximum_spread_scale = 1,
          .alpha_spread_scale = 1,
          .correlation_shift = 0,
          .sampling_resolution = 0.19,
          .constant_resolution = 0,
          .core_scale = 1,
          .tail_scale = 1,
          .core_weight_shift = 0,
          .radius_limit_moliere = 20,
          .spots_scale = 1,
          .spot_spread = 0};
}

LongitudinalLaw longitudinal_law(double energy_gev, const EffectiveMedium& medium, const Tuning& tuning) {
  const double ln_y = std::log(1000 * energy_gev / medium.critical_energy_mev);
  // Homogeneous medium, then the terms of the sampling structure.
  const double maximum = tuning.maximum_slope * ln_y - 0.812 - 0.55 * medium.layer_x0 - 0.69 * medium.one_minus_e_hat +
                         tuning.maximum_shift_x0;
  const double alpha =
      0.81 + tuning.alpha_slope * (0.458 + 2.26 / medium.z) * ln_y - 0.476 * medium.layer_x0 + tuning.alpha_shift;
  return {.ln_maximum = std::log(std::max(maximum, kMaximumSmallest_x0)),
          .ln_alpha = std::log(std::max(alpha, kAlphaSmallest)),
          .ln_maximum_sigma = spread(-2.5, 1.25, ln_y, tuning.maximum_spread_scale),
          .ln_alpha_sigma = spread(-0.82, 0.79, ln_y, tuning.alpha_spread_scale),
          .correlation = std::clamp(0.784 - 0.023 * ln_y + tuning.correlation_shift, -1.0, 1.0)};
}

RadialProfile::RadialProfile(double energy_gev, const EffectiveMedium& medium, const Tuning& tuning)
    : medium_(medium), tuning_(tuning) {
  const double ln_energy = std::log(energy_gev);
  z1_ = 0.0251 + 0.00319 * ln_energy;
  z2_ = 0.1162 - 0.000381 * medium.z;
  p1_ = 2.632 - 0.00094 * medium.z;
  p2_ = 0.401 + 0.00187 * medium.z;
  p3_ = 1.313 - 0.0686 * ln_energy;
  k1_ = 0.659 - 0.00309 * medium.z;
  k4_ = 0.3585 + 0.0412 * ln_energy;
}

RadialLaw RadialProfile::at(double tau) const {
  constexpr double kK2 = 0.645, kK3 = -2.59;
  const double falling = std::exp(-tau), step = medium_.one_minus_e_hat, layer = medium_.layer_x0;
  const double bend = std::exp((p2_ - tau) / p3_);
  const double core = z1_ + z2_ * tau - 0.0203 * step + 0.0397 * layer * falling;
  const double tail =
      k1_ * (std::exp(kK3 * (tau - kK2)) + std::exp(k4_ * (tau - kK2))) - 0.14 * step - 0.495 * layer * falling;
  const double weight =
      p1_ * bend * std::exp(-bend) + step * (0.348 - 0.642 * layer * std::exp(-(tau - 1) * (tau - 1)));
  return {.core = std::max(core * tuning_.core_scale, kRadiusSmallest),
          .tail = std::max(tail * tuning_.tail_scale, kRadiusSmallest),
          .core_weight = std::clamp(weight + tuning_.core_weight_shift, 0.0, 1.0)};
}

// 10.3 E^0.959 / c of the paper, c the sampling resolution.
double spot_count(double energy_gev, const Tuning& tuning) {
  return tuning.spots_scale * 10.3 / tuning.sampling_resolution * std::pow(energy_gev, 0.959);
}

}  // namespace linac::physics
