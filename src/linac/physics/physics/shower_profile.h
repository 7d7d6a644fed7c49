#pragma once
// Laws of an electromagnetic shower's shape: the formulas of Grindhammer and Peters, "The parameterized simulation of
// electromagnetic showers in homogeneous and sampling calorimeters", hep-ex/0001020, with the constants of its appendix
// (the same as in Geant4's GFlash: GVFlashHomoShowerTuning.hh, GFlashSamplingShowerTuning.hh), and the few numbers by
// which they are tuned to a detector. Plain values, pure functions, thread-safe.
//
// Depth t is in radiation lengths, radii in Moliere radii, tau = t / T counts depth in units of the maximum's.

#include "linac/physics/physics/sampling_stack.h"

namespace linac::physics {

/// Departures from the paper's formulas. The defaults were fitted to Geant4 showers in the CLIC ECAL
/// (docs/guide/physics/simulation.md); untuned() is the paper.
struct Tuning {
  double visible_scale = 1.029;         // of the visible energy
  double maximum_shift_x0 = -0.015;     // added to T
  double maximum_slope = 1.08;          // of T against ln(E / E_c)
  double alpha_shift = -0.596;          // added to alpha
  double alpha_slope = 1.291;           // of alpha against ln(E / E_c)
  double maximum_spread_scale = 0.966;  // of sigma(ln T)
  double alpha_spread_scale = 0.961;    // of sigma(ln alpha)
  double correlation_shift = -0.067;    // added to the correlation of ln T and ln alpha
  double sampling_resolution = 0.19;    // sigma of the deposited energy in one layer of 1 x0, times sqrt(E / GeV)
  double constant_resolution = 0.0136;  // sigma of the visible energy that all layers share, as a part of it
  double core_scale = 0.9625;           // of the core's radius
  double tail_scale = 1.093;            // of the tail's radius
  double core_weight_shift = -0.04;     // added to the core's share
  double radius_limit_moliere = 5.5;    // no energy beyond
  double spots_scale = 1.4;             // of the number of energy spots
  double spot_spread = 1;               // of their energies: see SpotEnergies

  static Tuning untuned();
};

/// ln T and ln alpha of f(t) = beta^alpha t^(alpha-1) exp(-beta t) / Gamma(alpha), T = (alpha - 1) / beta: normally
/// distributed with these means, standard deviations and correlation.
struct LongitudinalLaw {
  double ln_maximum, ln_alpha;
  double ln_maximum_sigma, ln_alpha_sigma;
  double correlation;
};
LongitudinalLaw longitudinal_law(double energy_gev, const EffectiveMedium& medium, const Tuning& tuning);

/// Energy across: core_weight f(core) + (1 - core_weight) f(tail) with f(R) = 2 r R^2 / (r^2 + R^2)^2; R in Moliere
/// radii.
struct RadialLaw {
  double core, tail, core_weight;
};
/// The part of the radial laws that does not depend on depth, so that a shower's layers share it.
class RadialProfile {
 public:
  RadialProfile(double energy_gev, const EffectiveMedium& medium, const Tuning& tuning);
  RadialLaw at(double tau) const;

 private:
  EffectiveMedium medium_;
  Tuning tuning_;
  double z1_, z2_, p1_, p2_, p3_, k1_, k4_;
};

/// Energy spots in a shower of that energy.
double spot_count(double energy_gev, const Tuning& tuning);

}  // namespace linac::physics
