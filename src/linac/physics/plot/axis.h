#pragma once
// Axes: from values to places on the sheet, with ticks at round numbers. Pure but for the drawing, thread-safe.

#include <string>
#include <vector>

#include "linac/physics/plot/figure.h"

namespace linac::plot {

enum class Scale { kLinear, kLog };
enum class TickValues { kAny, kWhole, kPlain };

struct Axis {
  double low = 0, high = 1;  // low < high, and both > 0 if logarithmic
  Scale scale = Scale::kLinear;
  std::string label = {};
  TickValues tick_values = TickValues::kAny;

  /// 0 at `low`, 1 at `high`; beyond for values outside. -inf for what a logarithm does not take.
  double fraction(double value) const;
};

struct Tick {
  double value = 0;
  std::string label;
};

/// Round values inside the axis: about `wanted` of them, steps of 1, 2 or 5 times a power of ten; powers of ten on a
/// logarithmic axis (its 2 and 5 too, and plain numbers, where it spans less than two; with kPlain, up to three).
std::vector<Tick> ticks(const Axis& axis, int wanted);

/// An axis around values: linear from 0 (or the lowest) to a little above the highest, logarithmic to whole powers of
/// ten's 1, 2 and 5. Values that are not finite (or not positive on a logarithmic axis) do not count.
Axis axis_around(const std::vector<double>& values, Scale scale, std::string label);

/// A linear axis close around the values that are finite, from 0 only if they come near it.
Axis axis_close_to(const std::vector<double>& values, std::string label);

/// A power of ten as text: "10⁻³".
std::string power_of_ten(int exponent);

/// Where a point of the data lies in the plot area.
Point place(const Rect& area, const Axis& x, const Axis& y, Point point);

enum class Grid { kNone, kHorizontal };
/// Below a plot area: the line, ticks and labels, which need about 32.
void draw_x_axis(Figure& figure, const Rect& area, const Axis& x);
/// To its left: the same, with the grid; labels need about 40.
void draw_y_axis(Figure& figure, const Rect& area, const Axis& y, Grid grid);
/// Both.
void draw_frame(Figure& figure, const Rect& area, const Axis& x, const Axis& y, Grid grid);

}  // namespace linac::plot
