#include "linac/physics/plot/shower_maps.h"

#include <algorithm>
#include <array>
#include <numbers>

#include "linac/base/base/error.h"
#include "linac/physics/plot/colour_scale.h"

namespace linac::plot {
namespace {

constexpr double kWidth = 900, kTop = 74, kMapHeight = 190, kRowGap = 46, kBelow = 60;
constexpr double kTitleLeft = 20, kNameLeft = 26;
constexpr double kBarLeft = 830, kBarWidth = 9;
constexpr int kColourDecades = 5;

// One plane of the image and where it lies on the sheet.
struct Plane {
  const char *title, *horizontal, *vertical;
  double left, width;
};
constexpr std::array<Plane, 3> kPlanes{{
    {"front view, xy", "cell x", "cell y", 88, 190},
    {"from above, xz", "layer z", "cell x", 332, 214},
    {"from the side, yz", "layer z", "cell y", 600, 214},
}};

void draw_row(Figure& figure, const MapRow& row, double top, const Axis& colour) {
  const ShowerMaps& maps = row.maps;
  const std::vector<double> xy = transposed(maps.xy, maps.x, maps.y);
  const std::array<std::span<const double>, 3> values{xy, maps.xz, maps.yz};
  const std::array<int64_t, 3> columns{maps.x, maps.z, maps.z}, rows{maps.y, maps.x, maps.y};
  for (size_t i = 0; i < kPlanes.size(); ++i) {
    const Plane& plane = kPlanes[i];
    draw_heat_map(figure, {plane.left, top, plane.width, kMapHeight},
                  {.columns = columns[i],
                   .rows = rows[i],
                   .values = values[i],
                   .x = cells_axis(columns[i], plane.horizontal),
                   .y = cells_axis(rows[i], plane.vertical),
                   .colour = colour});
  }
  const TextStyle style{.size = 11,
                        .colour = row.name_colour,
                        .align = Align::kCentre,
                        .weight = Weight::kBold,
                        .angle = -std::numbers::pi / 2};
  figure.text({kNameLeft, top + kMapHeight / 2}, figure.elided(row.name, kMapHeight, style), style);
}

}  // namespace

bool complete(const ShowerMaps& maps) {
  const auto has = [](std::span<const double> values, int64_t size) {
    return static_cast<int64_t>(values.size()) == size;
  };
  return maps.x > 0 && maps.y > 0 && maps.z > 0 && has(maps.xy, maps.x * maps.y) && has(maps.xz, maps.x * maps.z) &&
         has(maps.yz, maps.y * maps.z) && has(maps.longitudinal, maps.z) && has(maps.transverse_x, maps.x) &&
         has(maps.transverse_y, maps.y);
}

std::vector<double> transposed(std::span<const double> map, int64_t rows, int64_t columns) {
  std::vector<double> result(map.size());
  for (int64_t i = 0; i < rows; ++i)
    for (int64_t j = 0; j < columns; ++j)
      result[static_cast<size_t>(j * rows + i)] = map[static_cast<size_t>(i * columns + j)];
  return result;
}

Axis cells_axis(int64_t cells, std::string label) {
  return {.low = 0, .high = static_cast<double>(cells), .label = std::move(label)};
}

Picture draw_map_sheet(const MapSheet& sheet) {
  LINAC_CHECK(!sheet.rows.empty());
  std::vector<std::span<const double>> values;
  for (const MapRow& row : sheet.rows) {
    LINAC_CHECK(complete(row.maps));
    values.insert(values.end(), {row.maps.xy, row.maps.xz, row.maps.yz});
  }
  const Axis colour = log_colour_axis(values, kColourDecades, sheet.colour_label);
  const auto rows = static_cast<double>(sheet.rows.size());
  const double maps_height = rows * kMapHeight + (rows - 1) * kRowGap;
  Figure figure(kWidth, kTop + maps_height + kBelow);
  figure.text({kTitleLeft, 20}, sheet.title, {.size = 12, .weight = Weight::kBold});
  figure.text({kTitleLeft, 38}, sheet.facts, {.size = 9, .colour = kSoftInk});
  for (const Plane& plane : kPlanes)
    figure.text({plane.left, kTop - 11}, plane.title, {.size = 9.5, .weight = Weight::kBold});
  for (size_t i = 0; i < sheet.rows.size(); ++i)
    draw_row(figure, sheet.rows[i], kTop + static_cast<double>(i) * (kMapHeight + kRowGap), colour);
  draw_colour_bar(figure, {kBarLeft, kTop, kBarWidth, maps_height}, colour);
  figure.text({kTitleLeft, kTop + maps_height + kBelow - 12}, sheet.note, {.size = 8, .colour = kSoftInk});
  return figure.picture();
}

}  // namespace linac::plot
