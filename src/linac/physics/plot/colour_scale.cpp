#include "linac/physics/plot/colour_scale.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <vector>

namespace linac::plot {
namespace {

Colour from_hex(uint32_t rgb) {
  return {static_cast<double>(rgb >> 16 & 0xFF) / 255, static_cast<double>(rgb >> 8 & 0xFF) / 255,
          static_cast<double>(rgb & 0xFF) / 255};
}

// Evenly spaced colours and what lies between them.
template <size_t N>
Colour between(const std::array<uint32_t, N>& anchors, double fraction) {
  const double at = std::clamp(fraction, 0.0, 1.0) * (N - 1);
  const auto below = std::min(static_cast<size_t>(at), N - 2);
  const double part = at - static_cast<double>(below);
  const Colour a = from_hex(anchors[below]), b = from_hex(anchors[below + 1]);
  return {std::lerp(a.red, b.red, part), std::lerp(a.green, b.green, part), std::lerp(a.blue, b.blue, part)};
}

}  // namespace

Colour viridis(double fraction) {
  // Every tenth of the colour map by S. van der Walt and N. Smith (CC0), https://bids.github.io/colormap
  constexpr std::array<uint32_t, 11> kAnchors{0x440154, 0x482475, 0x414487, 0x355F8D, 0x2A788E, 0x21918C,
                                              0x22A884, 0x44BF70, 0x7AD151, 0xBDDF26, 0xFDE725};
  return between(kAnchors, fraction);
}

Colour diverging(double fraction) {
  constexpr std::array<uint32_t, 5> kAnchors{0x24579B, 0x8FB3DC, 0xF8F8F7, 0xF2A283, 0xBF3B1B};
  return between(kAnchors, fraction);
}

void draw_heat_map(Figure& figure, const Rect& area, const HeatMap& map) {
  std::vector<Colour> colours(map.values.size(), viridis(0));
  for (size_t i = 0; i < colours.size(); ++i) {
    const size_t columns = static_cast<size_t>(map.columns), row = i / columns;
    const double value = map.values[i];
    // Rows go upwards in a map and downwards in a picture.
    const size_t to = (static_cast<size_t>(map.rows) - 1 - row) * columns + i % columns;
    if (std::isfinite(value)) colours[to] = viridis(map.colour.fraction(value));
  }
  figure.cells(area, map.columns, map.rows, colours);
  draw_frame(figure, area, map.x, map.y, Grid::kNone);
}

void draw_colour_bar(Figure& figure, const Rect& area, const Axis& colour, Palette palette) {
  constexpr int64_t kShades = 200;
  std::vector<Colour> shades(kShades);
  for (int64_t i = 0; i < kShades; ++i)
    shades[static_cast<size_t>(i)] = palette(1 - (static_cast<double>(i) + 0.5) / kShades);
  figure.cells(area, 1, kShades, shades);
  double widest = 0;
  const TextStyle style{.size = 8, .colour = kSoftInk};
  for (const Tick& tick : ticks(colour, 8)) {
    const double at = area.bottom() - area.height * colour.fraction(tick.value);
    figure.line({area.right(), at}, {area.right() + 3, at}, {.colour = kAxisGrey, .width = 0.8});
    figure.text({area.right() + 6, at}, tick.label, style);
    widest = std::max(widest, figure.text_width(tick.label, style));
  }
  figure.text({area.right() + 6 + widest + 8, area.y + area.height / 2}, colour.label,
              {.size = 8.5, .align = Align::kCentre, .angle = -std::numbers::pi / 2});
}

Axis log_colour_axis(std::span<const std::span<const double>> maps, int decades, std::string label) {
  double high = 0;
  for (const auto& map : maps)
    for (const double value : map)
      if (std::isfinite(value)) high = std::max(high, value);
  if (high <= 0) high = 1;
  return {.low = high * std::pow(10, -decades), .high = high, .scale = Scale::kLog, .label = std::move(label)};
}

}  // namespace linac::plot
