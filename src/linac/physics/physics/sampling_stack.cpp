#include "linac/physics/physics/sampling_stack.h"

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

constexpr double kScatteringEnergy_mev = 21.2;  // E_s of the Moliere radius x0 E_s / E_c
constexpr double kTransition = 0.007;           // of e/mip against the step in Z

const Material& material_of(const Geometry& geometry, const Slice& slice) {
  for (const Material& material : geometry.materials)
    if (material.name == slice.material) return material;
  LINAC_CHECK(false);  // validate() found it
  return geometry.materials.front();
}

// Sums over the slices of one layer, or of a whole stack.
struct Sums {
  double depth_mm = 0, x0 = 0;
  double loss_mev = 0, sensor_loss_mev = 0;  // of a minimum ionising particle
  double passive_mass = 0, passive_mass_z = 0, sensor_mass = 0, sensor_mass_z = 0;
  double sensor_depth_mm = 0, sensor_depth_x0 = 0;

  double z() const { return (passive_mass_z + sensor_mass_z) / (passive_mass + sensor_mass); }
  double e_over_mip() const {
    const double passive_z = passive_mass > 0 ? passive_mass_z / passive_mass : sensor_mass_z / sensor_mass;
    return 1 / (1 + kTransition * (passive_z - sensor_mass_z / sensor_mass));
  }

  void add(const Geometry& geometry, const Slice& slice) {
    const Material& material = material_of(geometry, slice);
    const double slice_x0 = slice.thickness_mm / radiation_length_mm(material);
    const double slice_loss = slice_x0 * critical_energy_mev(material);
    const double mass = slice.thickness_mm * material.density_g_cm3;
    if (slice.sensor) {
      sensor_depth_mm = depth_mm + slice.thickness_mm / 2;
      sensor_depth_x0 = x0 + slice_x0 / 2;
      sensor_loss_mev += slice_loss;
    }
    (slice.sensor ? sensor_mass : passive_mass) += mass;
    (slice.sensor ? sensor_mass_z : passive_mass_z) += mass * material.z;
    depth_mm += slice.thickness_mm;
    x0 += slice_x0;
    loss_mev += slice_loss;
  }
};

}  // namespace

std::vector<SampledLayer> sampled_layers(const Geometry& geometry) {
  std::vector<SampledLayer> layers;
  double front_mm = 0, front_x0 = 0, front_loss_mev = 0;
  for (const LayerGroup& group : geometry.layers) {
    Sums layer;
    for (const Slice& slice : group.slices) layer.add(geometry, slice);
    for (int64_t i = 0; i < group.count; ++i) {
      layers.push_back(
          {.sensor_depth_mm = front_mm + layer.sensor_depth_mm,
           .sensor_depth_x0 = front_x0 + layer.sensor_depth_x0,
           .thickness_x0 = layer.x0,
           .mip_fraction = layer.sensor_loss_mev / layer.loss_mev,
           .e_over_mip = layer.e_over_mip(),
           .moliere_mm = kScatteringEnergy_mev * (front_mm + layer.depth_mm) / (front_loss_mev + layer.loss_mev)});
      front_mm += layer.depth_mm;
      front_x0 += layer.x0;
      front_loss_mev += layer.loss_mev;
    }
  }
  return layers;
}

EffectiveMedium effective_medium(const Geometry& geometry) {
  Sums stack;
  for (const LayerGroup& group : geometry.layers) {
    for (int64_t i = 0; i < group.count; ++i)
      for (const Slice& slice : group.slices) stack.add(geometry, slice);
  }
  return {.z = stack.z(),
          .critical_energy_mev = stack.loss_mev / stack.x0,
          .layer_x0 = stack.x0 / static_cast<double>(geometry.depth()),
          .one_minus_e_hat = 1 - stack.e_over_mip()};
}

}  // namespace linac::physics
