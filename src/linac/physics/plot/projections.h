#pragma once
// Generated showers beside simulated ones at one glance: mean projections and profiles. Thread-safe.

#include <cstdint>
#include <string>

#include "linac/physics/plot/figure.h"
#include "linac/physics/plot/shower_maps.h"

namespace linac::plot {

struct ProjectionCaption {
  std::string run;
  int64_t epoch = 0;  // as people count, from 1; 0: not said
  int64_t showers = 0;
  double energy_gev_min = 0, energy_gev_max = 0;
  double angle_rad_min = 0, angle_rad_max = 0;
};

/// Both of the same shape. `reference` is drawn above and called Geant4.
Picture draw_projections(const ShowerMaps& generated, const ShowerMaps& reference, const ProjectionCaption& caption);

}  // namespace linac::plot
