#pragma once
// A sampling calorimeter as a YAML file describes it: materials, layers from front to back, cells. Plain values; all
// functions are pure and thread-safe.
//
//     name: small
//     materials:
//       - {name: tungsten, z: 74, a: 183.84, density_g_cm3: 19.3}
//       - {name: silicon, z: 14, a: 28.086, density_g_cm3: 2.329}
//     layers:
//       - count: 24
//         slices: [{material: tungsten, thickness_mm: 3}, {material: silicon, thickness_mm: 0.5, sensor: true}]
//     cells: {x: 24, y: 24, pitch_mm: 10}
//
// The front face is the plane of depth 0; layers fill it without gaps (a gap is a slice of air) and without dead edges.

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "linac/base/base/config.h"

namespace linac::physics {

struct Material {
  std::string name;
  double z = 0, a = 0;
  double density_g_cm3 = 0;
  double x0_mm = 0;
  double critical_energy_mev = 0;

  template <class V>
  void fields(V& v) {
    v("name", name, "what slices call it");
    v("z", z, "atomic number; of a mixture the mean by mass");
    v("a", a, "atomic mass, g/mol; of a mixture such that z / a is its electrons a gram");
    v("density_g_cm3", density_g_cm3, "density");
    v("x0_mm", x0_mm, "radiation length; 0: from z, a and density");
    v("critical_energy_mev", critical_energy_mev, "energy that an electron loses to ionisation in one x0; 0: from x0");
  }
};

struct Slice {
  std::string material;
  double thickness_mm = 0;
  bool sensor = false;

  template <class V>
  void fields(V& v) {
    v("material", material, "one of the materials' names");
    v("thickness_mm", thickness_mm, "along depth");
    v("sensor", sensor, "true for the slice whose energy the cells hold: one in each layer");
  }
};

struct LayerGroup {
  int64_t count = 1;
  std::vector<Slice> slices;

  template <class V>
  void fields(V& v) {
    v("count", count, "so many equal layers");
    v("slices", slices, "from front to back");
  }
};

struct Cells {
  int64_t x = 0, y = 0;
  double pitch_mm = 0;

  template <class V>
  void fields(V& v) {
    v("x", x, "cells of the image along x");
    v("y", y, "cells of the image along y");
    v("pitch_mm", pitch_mm, "a cell is a square of this side");
  }
};

struct Geometry {
  std::string name;
  std::vector<Material> materials;
  std::vector<LayerGroup> layers;
  Cells cells;

  template <class V>
  void fields(V& v) {
    v("name", name, "for the records");
    v("materials", materials, "list of materials");
    v("layers", layers, "groups of equal layers, from front to back");
    v("cells", cells, "the image across");
  }

  /// Layers of the image, all groups together.
  int64_t depth() const;
  /// Cells of an image [x][y][depth].
  int64_t image_cells() const { return cells.x * cells.y * depth(); }
};

/// The geometry of the showers in data/: the ECAL barrel of CLIC_o2_v04 as a flat stack, 25 layers, 51 x 51 cells.
Geometry clic_ecal();

/// Environment error when the file cannot be read, user error naming file and field for what cannot be built.
Geometry load_geometry(const std::filesystem::path& path);
/// The same from text; `where` is what errors call it.
Geometry parse_geometry(const std::string& yaml, const std::string& where);
/// User error "[geometry] where: field ...; way out" unless it can be built.
void validate(const Geometry& geometry, const std::string& where);

/// A material's x0_mm; where that is 0, 716.4 g/cm^2 A / (Z (Z + 1) ln(287 / sqrt Z)): Dahl's fit in the Review of
/// Particle Physics, "Passage of particles through matter".
double radiation_length_mm(const Material& material);
/// A material's critical_energy_mev, or 2.66 MeV (X0 Z / A)^1.1, X0 in g/cm^2 (Grindhammer and Peters, hep-ex/0001020),
/// where that is 0.
double critical_energy_mev(const Material& material);

}  // namespace linac::physics
