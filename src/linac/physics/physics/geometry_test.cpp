#include "linac/physics/physics/geometry.h"

#include <gtest/gtest.h>

#include <functional>

#include "linac/base/base/error.h"

namespace linac::physics {
namespace {

constexpr const char* kSmall = R"(name: small
materials:
  - {name: tungsten, z: 74, a: 183.84, density_g_cm3: 19.3}
  - {name: silicon, z: 14, a: 28.086, density_g_cm3: 2.329, x0_mm: 93.7, critical_energy_mev: 40}
layers:
  - count: 3
    slices: [{material: tungsten, thickness_mm: 3}, {material: silicon, thickness_mm: 0.5, sensor: true}]
  - slices: [{material: silicon, thickness_mm: 1, sensor: true}]
cells: {x: 6, y: 4, pitch_mm: 10}
)";

std::string replaced(const std::string& from, const std::string& to) {
  std::string text = kSmall;
  const size_t at = text.find(from);
  LINAC_CHECK(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

std::string error_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const Error& error) {
    return error.what();
  }
  return "no error";
}

void expect_error(const std::string& yaml, const std::vector<std::string>& parts) {
  const std::string message = error_of([&] { parse_geometry(yaml, "small.yaml"); });
  EXPECT_NE(message.find("small.yaml"), std::string::npos) << message;
  for (const std::string& part : parts) EXPECT_NE(message.find(part), std::string::npos) << message;
}

TEST(Geometry, ReadsAFile) {
  const Geometry geometry = parse_geometry(kSmall, "small.yaml");
  EXPECT_EQ(geometry.name, "small");
  EXPECT_EQ(geometry.depth(), 4);
  EXPECT_EQ(geometry.image_cells(), 6 * 4 * 4);
  EXPECT_EQ(geometry.layers[0].slices[1].material, "silicon");
  EXPECT_TRUE(geometry.layers[0].slices[1].sensor);
  EXPECT_FALSE(geometry.layers[0].slices[0].sensor);
  EXPECT_EQ(geometry.cells.pitch_mm, 10);
}

TEST(Geometry, ErrorsNameFileAndField) {
  expect_error(replaced("count: 3", "counts: 3"), {"layers[0].counts", "did you mean"});
  expect_error(replaced("count: 3", "count: 0"), {"layers[0].count = 0"});
  expect_error(replaced("count: 3", "count: 1001"), {"layers[0].count = 1001"});
  expect_error(replaced("material: tungsten", "material: tungten"),
               {"layers[0].slices[0].material 'tungten'", "did you mean 'tungsten'"});
  expect_error(replaced("thickness_mm: 3", "thickness_mm: -3"), {"layers[0].slices[0].thickness_mm = -3"});
  expect_error(replaced("thickness_mm: 3", "thickness_mm: .nan"), {"layers[0].slices[0].thickness_mm"});
  expect_error(replaced(", sensor: true", ""), {"layers[0].slices: 0 of 2 are sensors"});
  expect_error(replaced("z: 74", "z: seventy"), {"materials[0].z"});
  expect_error(replaced("density_g_cm3: 19.3", "density_g_cm3: 0"), {"materials[0].density_g_cm3 = 0"});
  expect_error(replaced("x0_mm: 93.7", "x0_mm: -1"), {"materials[1].x0_mm = -1"});
  expect_error(replaced("name: silicon", "name: tungsten"), {"materials[1].name 'tungsten' is taken"});
  expect_error(replaced("x: 6", "x: 0"), {"cells.x = 0"});
  expect_error(replaced("y: 4", "y: 5000"), {"cells.y = 5000"});
  expect_error(replaced("pitch_mm: 10", "pitch_mm: 0"), {"cells.pitch_mm = 0"});
  expect_error("name: [", {"not YAML"});
  expect_error("name: nothing", {"materials is empty"});
}

TEST(Geometry, AMissingFileIsAnError) {
  EXPECT_NE(error_of([] { load_geometry("/nowhere/geometry.yaml"); }).find("/nowhere/geometry.yaml"),
            std::string::npos);
}

// The example is the built-in default, field for field.
TEST(Geometry, TheExamplesAreRead) {
  Geometry example = load_geometry("examples/geometry/clic-ecal.yaml");
  EXPECT_EQ(config::to_yaml(example), config::to_yaml(clic_ecal()));
  const Geometry small = load_geometry("examples/geometry/small.yaml");
  EXPECT_EQ(small.image_cells(), 24 * 24 * 24);
}

// Table of the Particle Data Group: X0 of tungsten 3.504 mm, of silicon 93.7 mm, of lead 5.612 mm; the fit is good to
// 2.5 per cent.
TEST(Material, RadiationLength) {
  EXPECT_NEAR(radiation_length_mm({"W", 74, 183.84, 19.3}), 3.504, 0.09);
  EXPECT_NEAR(radiation_length_mm({"Si", 14, 28.086, 2.329}), 93.7, 2.4);
  EXPECT_NEAR(radiation_length_mm({"Pb", 82, 207.2, 11.35}), 5.612, 0.14);
  EXPECT_EQ(radiation_length_mm({"X", 82, 207.2, 11.35, 7}), 7);
}

// Rossi's definition, as the Particle Data Group gives it: lead 7.43, tungsten 7.97, silicon 40.2 MeV.
TEST(Material, CriticalEnergy) {
  EXPECT_NEAR(critical_energy_mev({"Pb", 82, 207.2, 11.35}), 7.43, 0.5);
  EXPECT_NEAR(critical_energy_mev({"W", 74, 183.84, 19.3}), 7.97, 0.5);
  EXPECT_NEAR(critical_energy_mev({"Si", 14, 28.086, 2.329}), 40.2, 4);
  EXPECT_EQ(critical_energy_mev({"X", 82, 207.2, 11.35, 7, 9}), 9);
}

}  // namespace
}  // namespace linac::physics
