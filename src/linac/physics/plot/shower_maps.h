#pragma once
// Showers as maps: several of them, one row of xy, xz and yz each, in one colour scale, so that they compare at a
// glance. Thread-safe.

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/figure.h"

namespace linac::plot {

/// Mean energy of a shower in GeV, projected onto the planes of the image (rows first: xy is [x][y]) and its axes.
/// Borrows its values.
struct ShowerMaps {
  int64_t x = 0, y = 0, z = 0;  // cells
  std::span<const double> xy, xz, yz;
  std::span<const double> longitudinal, transverse_x, transverse_y;  // [z], [x], [y]
};

/// Of what has members of these names, physics::Projections above all. Borrowed: it must outlive what comes of it.
template <class Maps>
ShowerMaps shower_maps(const Maps& maps) {
  return {maps.x, maps.y, maps.z, maps.xy, maps.xz, maps.yz, maps.longitudinal, maps.transverse_x, maps.transverse_y};
}
template <class Maps>
ShowerMaps shower_maps(const Maps&& maps) = delete;

/// Whether the maps are there and of the size that x, y and z say.
bool complete(const ShowerMaps& maps);

/// A map [rows][columns] as [columns][rows].
std::vector<double> transposed(std::span<const double> map, int64_t rows, int64_t columns);

/// An axis that counts cells from the image's border.
Axis cells_axis(int64_t cells, std::string label);

struct MapRow {
  std::string name;
  Colour name_colour = kInk;
  ShowerMaps maps;
};

struct MapSheet {
  std::string title, facts, note;  // above, in bold and in grey; below
  std::string colour_label;        // "mean energy, GeV"
  std::vector<MapRow> rows;        // all of one shape, at least one
};

Picture draw_map_sheet(const MapSheet& sheet);

}  // namespace linac::plot
