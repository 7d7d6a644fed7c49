// Definition: the openlab 3DGAN ("3D convolutional GAN for fast simulation", CHEP 2018). Each layer z with energy has
// a barycentre (x_z, y_z); with that of the whole image, (x, y, z), its slope is m = (y_z - y) / p over the length p in
// the plane across, its angle pi/2 - atan m (sign of m turned in front of the barycentre), and the image's angle is the
// mean over the layers.
#include "linac/physics/physics/measured_angle.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

constexpr double kSmallestSquare = 1e-7;  // of p: for the layer at the barycentre itself

double centre(int64_t cell) {
  return static_cast<double>(cell) + 0.5;
}

// Of one layer or of the image: energy and sums of energy times position.
struct LayerSums {
  double energy = 0, x = 0, y = 0;
};

std::vector<LayerSums> layer_sums(std::span<const float> image, int64_t nx, int64_t ny, int64_t nz) {
  std::vector<LayerSums> layers(static_cast<size_t>(nz));
  const float* cell = image.data();
  for (int64_t i = 0; i < nx; ++i) {
    for (int64_t j = 0; j < ny; ++j) {
      for (LayerSums& layer : layers) {
        const double energy = *cell++;
        layer.energy += energy;
        layer.x += energy * centre(i);
        layer.y += energy * centre(j);
      }
    }
  }
  return layers;
}

std::vector<LayerSums> layer_sums(const Projections& maps) {
  const auto depth = static_cast<size_t>(maps.z);
  std::vector<LayerSums> layers(depth);
  for (size_t i = 0; i < maps.xz.size(); ++i) {
    layers[i % depth].energy += maps.xz[i];
    layers[i % depth].x += maps.xz[i] * centre(static_cast<int64_t>(i / depth));
  }
  for (size_t i = 0; i < maps.yz.size(); ++i)
    layers[i % depth].y += maps.yz[i] * centre(static_cast<int64_t>(i / depth));
  return layers;
}

double angle_of(const std::vector<LayerSums>& layers, LayerWeight weight) {
  LayerSums whole;
  double depth = 0;
  for (size_t k = 0; k < layers.size(); ++k) {
    whole.energy += layers[k].energy;
    whole.x += layers[k].x;
    whole.y += layers[k].y;
    depth += layers[k].energy * centre(static_cast<int64_t>(k));
  }
  if (!(whole.energy > 0)) return kEmptyImageAngle;
  const double x_mean = whole.x / whole.energy, y_mean = whole.y / whole.energy, z_mean = depth / whole.energy;

  double angle_sum = 0, weight_sum = 0;
  for (size_t k = 0; k < layers.size(); ++k) {
    const LayerSums& layer = layers[k];
    if (!(layer.energy > 0)) continue;
    const double z_centre = centre(static_cast<int64_t>(k)), dz = z_centre - z_mean;
    const double dx = layer.x / layer.energy - x_mean, dy = layer.y / layer.energy - y_mean;
    const double slope = dy / std::sqrt(std::max(dx * dx + dz * dz, kSmallestSquare));
    const double share = weight == LayerWeight::kDepth ? z_centre : 1;
    angle_sum += share * (std::numbers::pi / 2 - std::atan(dz < 0 ? -slope : slope));
    weight_sum += share;
  }
  return angle_sum / weight_sum;
}

}  // namespace

double measured_angle(std::span<const float> image, int64_t x, int64_t y, int64_t z, LayerWeight weight) {
  LINAC_CHECK(static_cast<int64_t>(image.size()) == x * y * z);
  return angle_of(layer_sums(image, x, y, z), weight);
}

double measured_angle(const Projections& maps, LayerWeight weight) {
  return angle_of(layer_sums(maps), weight);
}

std::vector<double> measured_angles(std::span<const float> images, int64_t x, int64_t y, int64_t z,
                                    LayerWeight weight) {
  const auto cells = static_cast<size_t>(x * y * z);
  LINAC_CHECK(cells > 0 && images.size() % cells == 0);
  std::vector<double> angles;
  for (size_t first = 0; first < images.size(); first += cells)
    angles.push_back(measured_angle(images.subspan(first, cells), x, y, z, weight));
  return angles;
}

}  // namespace linac::physics
