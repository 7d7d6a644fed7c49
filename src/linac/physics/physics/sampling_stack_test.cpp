#include "linac/physics/physics/sampling_stack.h"

#include <gtest/gtest.h>

namespace linac::physics {
namespace {

// data/README.md: 25 layers of 4.4 and 6.8 mm, 129.2 mm and 21.1 radiation lengths deep.
TEST(SamplingStack, ClicEcal) {
  const auto layers = sampled_layers(clic_ecal());
  ASSERT_EQ(layers.size(), 25U);
  double depth_x0 = 0;
  for (const SampledLayer& layer : layers) depth_x0 += layer.thickness_x0;
  EXPECT_NEAR(depth_x0, 21.1, 0.1);
  EXPECT_NEAR(layers[0].sensor_depth_mm, 2.4 + 0.25 + 0.10 + 0.25, 1e-9);
  EXPECT_NEAR(layers[24].sensor_depth_mm, 17 * 4.4 + 7 * 6.8 + 4.8 + 0.35 + 0.25, 1e-9);
  // Expected from mip losses and e/mip: 2.34 and 1.26 per cent; Moliere radius of the thin part 15.1 mm.
  EXPECT_NEAR(layers[0].sampling_fraction(), 0.0234, 0.0010);
  EXPECT_NEAR(layers[24].sampling_fraction(), 0.0126, 0.0005);
  EXPECT_NEAR(layers[0].moliere_mm, 15.1, 0.5);
  EXPECT_LT(layers[24].moliere_mm, layers[17].moliere_mm);
}

// A stack of one material is that material: nothing to weigh.
TEST(SamplingStack, OneMaterialThroughout) {
  const Geometry geometry{
      "silicon", {{"silicon", 14, 28.086, 2.329, 93.7, 40}}, {{10, {{"silicon", 9.37, true}}}}, {5, 5, 10}};
  const EffectiveMedium medium = effective_medium(geometry);
  EXPECT_DOUBLE_EQ(medium.z, 14);
  EXPECT_NEAR(medium.critical_energy_mev, 40, 1e-9);
  EXPECT_NEAR(medium.layer_x0, 0.1, 1e-12);
  EXPECT_NEAR(medium.one_minus_e_hat, 0, 1e-12);
  for (const SampledLayer& layer : sampled_layers(geometry)) {
    EXPECT_NEAR(layer.sampling_fraction(), 1, 1e-12);
    EXPECT_NEAR(layer.moliere_mm, 93.7 * 21.2 / 40, 1e-9);
  }
}

// Half copper, half silicon by length: sums written out.
TEST(SamplingStack, TwoMaterials) {
  const Geometry geometry{"pair",
                          {{"absorber", 29, 63.55, 9, 15, 20}, {"sensor", 14, 28, 2, 100, 40}},
                          {{2, {{"absorber", 3}, {"sensor", 3, true}}}},
                          {5, 5, 10}};
  const double loss_absorber = 20.0 * 3 / 15, loss_sensor = 40.0 * 3 / 100;
  const auto layers = sampled_layers(geometry);
  ASSERT_EQ(layers.size(), 2U);
  EXPECT_NEAR(layers[1].mip_fraction, loss_sensor / (loss_absorber + loss_sensor), 1e-12);
  EXPECT_NEAR(layers[1].e_over_mip, 1 / (1 + 0.007 * 15), 1e-12);
  EXPECT_NEAR(layers[1].thickness_x0, 0.2 + 0.03, 1e-12);
  EXPECT_NEAR(layers[1].sensor_depth_x0, 0.23 + 0.2 + 0.015, 1e-12);
  EXPECT_NEAR(layers[1].sensor_depth_mm, 6 + 3 + 1.5, 1e-12);
  const EffectiveMedium medium = effective_medium(geometry);
  EXPECT_NEAR(medium.z, (27 * 29 + 6 * 14) / 33.0, 1e-12);
  EXPECT_NEAR(medium.critical_energy_mev, (loss_absorber + loss_sensor) / 0.23, 1e-9);
}

}  // namespace
}  // namespace linac::physics
