#include "linac/physics/plot/projections.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/physics/plot/colour_scale.h"
#include "linac/physics/plot/line_chart.h"

namespace linac::plot {
namespace {

constexpr double kWidth = 1230, kHeight = 610;
constexpr double kMapsTop = 84, kMapHeight = 212, kRowGap = 46;
constexpr double kBarGap = 9, kBarWidth = 9;
constexpr double kChartsLeft = 908, kChartsTop = 62;
constexpr int kColourDecades = 5, kProfileDecades = 5;

// One plane of the image: how it lies on the sheet, and both its maps with the horizontal axis fastest.
struct Column {
  std::string title, horizontal, vertical;
  double left, width;
  int64_t columns, rows;
  std::vector<double> reference, generated;
};

std::vector<double> copied(std::span<const double> map) {
  return {map.begin(), map.end()};
}

void draw_column(Figure& figure, const Column& column) {
  const std::array<std::span<const double>, 2> maps{column.reference, column.generated};
  const Axis colour = log_colour_axis(maps, kColourDecades, "mean energy, GeV");
  figure.text({column.left, kMapsTop - 11}, column.title, {.size = 9.5, .weight = Weight::kBold});
  for (size_t row = 0; row < maps.size(); ++row) {
    const double top = kMapsTop + static_cast<double>(row) * (kMapHeight + kRowGap);
    draw_heat_map(figure, {column.left, top, column.width, kMapHeight},
                  {.columns = column.columns,
                   .rows = column.rows,
                   .values = maps[row],
                   .x = cells_axis(column.columns, column.horizontal),
                   .y = cells_axis(column.rows, column.vertical),
                   .colour = colour});
  }
  draw_colour_bar(figure, {column.left + column.width + kBarGap, kMapsTop, kBarWidth, 2 * kMapHeight + kRowGap},
                  colour);
}

LineChart profile(std::string title, std::string axis, std::span<const double> reference,
                  std::span<const double> generated, Scale scale) {
  // Bins are drawn around the centres of the cells.
  LineChart chart{.title = std::move(title),
                  .x = cells_axis(static_cast<int64_t>(reference.size()), std::move(axis)),
                  .y = {},
                  .series = {{.label = "Geant4",
                              .colour = kReferenceColour,
                              .style = SeriesStyle::kFilledSteps,
                              .points = points_from(0.5, copied(reference))},
                             {.label = "generated",
                              .colour = kSampleColour,
                              .style = SeriesStyle::kSteps,
                              .points = points_from(0.5, copied(generated))}}};
  std::vector<double> both = copied(reference);
  both.insert(both.end(), generated.begin(), generated.end());
  chart.y = axis_around(both, scale, "GeV");
  if (scale == Scale::kLog) chart.y.low = std::max(chart.y.low, chart.y.high * std::pow(10, -kProfileDecades));
  return chart;
}

void draw_profiles(Figure& figure, const ShowerMaps& generated, const ShowerMaps& reference) {
  const std::array<LineChart, 3> charts{
      profile("energy in each layer", "layer z", reference.longitudinal, generated.longitudinal, Scale::kLinear),
      profile("energy across, x", "cell x", reference.transverse_x, generated.transverse_x, Scale::kLog),
      profile("energy across, y", "cell y", reference.transverse_y, generated.transverse_y, Scale::kLog)};
  const double height = (kHeight - kChartsTop - 8) / charts.size();
  for (size_t i = 0; i < charts.size(); ++i) {
    draw_line_chart(figure,
                    {kChartsLeft, kChartsTop + static_cast<double>(i) * height, kWidth - kChartsLeft - 12, height},
                    charts[i], i == 0 ? Legend::kBesideTitle : Legend::kNone);
  }
}

void draw_caption(Figure& figure, const ProjectionCaption& caption) {
  const double left = 28;
  figure.text({left, 22}, caption.epoch > 0 ? fmt::format("{}, epoch {}", caption.run, caption.epoch) : caption.run,
              {.size = 14, .weight = Weight::kBold});
  constexpr double kDegrees = 180 / std::numbers::pi;
  std::string facts = fmt::format("mean of {} showers, generated for the same energies and angles", caption.showers);
  if (caption.energy_gev_max > 0)
    facts += fmt::format("   ·   {:.4g} to {:.4g} GeV", caption.energy_gev_min, caption.energy_gev_max);
  if (caption.angle_rad_max > 0)
    facts +=
        fmt::format("   ·   {:.0f}° to {:.0f}°", caption.angle_rad_min * kDegrees, caption.angle_rad_max * kDegrees);
  figure.text({left, 43}, facts, {.size = 9.5, .colour = kSoftInk});
  const std::array<const char*, 2> names{"Geant4", "generated"};
  for (size_t row = 0; row < names.size(); ++row) {
    figure.text({left, kMapsTop + static_cast<double>(row) * (kMapHeight + kRowGap) + kMapHeight / 2}, names[row],
                {.size = 11,
                 .colour = row == 0 ? kReferenceColour : kSampleColour,
                 .align = Align::kCentre,
                 .weight = Weight::kBold,
                 .angle = -std::numbers::pi / 2});
  }
}

}  // namespace

Picture draw_projections(const ShowerMaps& generated, const ShowerMaps& reference, const ProjectionCaption& caption) {
  LINAC_CHECK(complete(generated) && complete(reference));
  LINAC_CHECK(generated.x == reference.x && generated.y == reference.y && generated.z == reference.z);
  const int64_t x = reference.x, y = reference.y, z = reference.z;
  Figure figure(kWidth, kHeight);
  draw_caption(figure, caption);
  draw_column(figure, {"front view, xy", "cell x", "cell y", 88, 212, x, y, transposed(reference.xy, x, y),
                       transposed(generated.xy, x, y)});
  draw_column(figure,
              {"from above, xz", "layer z", "cell x", 410, 164, z, x, copied(reference.xz), copied(generated.xz)});
  draw_column(figure,
              {"from the side, yz", "layer z", "cell y", 684, 164, z, y, copied(reference.yz), copied(generated.yz)});
  draw_profiles(figure, generated, reference);
  return figure.picture();
}

}  // namespace linac::plot
