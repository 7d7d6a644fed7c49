#pragma once
// What a shower sees of a geometry: where each sensor lies in radiation lengths, and which part of the energy deposited
// around it becomes visible. Effective quantities of a mixed stack as in Grindhammer and Peters, hep-ex/0001020,
// section on sampling calorimeters. Plain values, pure functions, thread-safe.

#include <vector>

#include "linac/physics/physics/geometry.h"

namespace linac::physics {

/// One layer for a particle along depth; a tilted one meets all lengths divided by the sine of its polar angle.
struct SampledLayer {
  double sensor_depth_mm;  // middle of the sensor from the front face
  double sensor_depth_x0;
  double thickness_x0;  // of the whole layer
  double mip_fraction;  // part of a minimum ionising particle's loss in this layer that the sensor takes
  double e_over_mip;    // 1 / (1 + 0.007 (Z_passive - Z_sensor))
  double moliere_mm;    // effective Moliere radius of the stack down to this layer's end: width is gathered on the way

  /// Visible part of the energy that an electromagnetic shower deposits here.
  double sampling_fraction() const { return mip_fraction * e_over_mip; }
};

/// Means over the whole stack, each layer by its thickness.
struct EffectiveMedium {
  double z;                    // mean by mass
  double critical_energy_mev;  // in one x0 of the mixture
  double layer_x0;             // mean thickness of a layer: 1 / F_s of the paper
  double one_minus_e_hat;      // 1 - e/mip
};

/// A minimum ionising particle's loss in a length is taken as critical energy / x0 of the material.
std::vector<SampledLayer> sampled_layers(const Geometry& geometry);
EffectiveMedium effective_medium(const Geometry& geometry);

}  // namespace linac::physics
