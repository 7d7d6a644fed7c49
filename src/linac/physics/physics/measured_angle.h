#pragma once
// The shower's polar angle as openlab's 3DGAN measures it in an image. A layer counts as one cell deep, so this is not
// the particle's angle; it serves to compare images with images. Pure, thread-safe.

#include <cstdint>
#include <span>
#include <vector>

#include "linac/physics/physics/projections.h"

namespace linac::physics {

/// What measured_angle() returns for an image without energy.
constexpr double kEmptyImageAngle = 100;

/// How the layers share in the mean.
enum class LayerWeight {
  kDepth,  // by depth: the networks' `angle`
  kEqual,  // all alike: the files' `mtheta`
};

/// `image` is [x][y][z]; its unit does not matter. In rad, pi/2 is perpendicular.
double measured_angle(std::span<const float> image, int64_t x, int64_t y, int64_t z,
                      LayerWeight weight = LayerWeight::kDepth);

/// The same from the maps of one shower.
double measured_angle(const Projections& maps, LayerWeight weight = LayerWeight::kDepth);

/// The same for each of the images [events][x][y][z].
std::vector<double> measured_angles(std::span<const float> images, int64_t x, int64_t y, int64_t z,
                                    LayerWeight weight = LayerWeight::kDepth);

}  // namespace linac::physics
