#pragma once
// Numbers as colours, and maps drawn with them. Pure but for the drawing, thread-safe.

#include <span>
#include <string>

#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/figure.h"

namespace linac::plot {

/// Dark violet at 0 to yellow at 1, evenly brighter for the eye; clamped outside.
Colour viridis(double fraction);

/// Blue at 0 over white at a half to orange-red at 1; clamped outside.
Colour diverging(double fraction);

/// How a fraction becomes a colour.
using Palette = Colour (*)(double fraction);

/// values[row * columns + column], row 0 at the bottom. What lies below the colour axis, or is not finite, is as dark
/// as its low end.
struct HeatMap {
  int64_t columns = 0, rows = 0;
  std::span<const double> values;
  Axis x, y;    // for the ticks
  Axis colour;  // its limits and scale
};

void draw_heat_map(Figure& figure, const Rect& area, const HeatMap& map);

/// The legend of a colour axis, its values to the right.
void draw_colour_bar(Figure& figure, const Rect& area, const Axis& colour, Palette palette = viridis);

/// A logarithmic colour axis over `decades` powers of ten below the highest of the values.
Axis log_colour_axis(std::span<const std::span<const double>> maps, int decades, std::string label);

}  // namespace linac::plot
