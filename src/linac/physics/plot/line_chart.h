#pragma once
// Curves over a pair of axes, with a legend beside the title. Thread-safe for different figures.

#include <string>
#include <vector>

#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/figure.h"

namespace linac::plot {

enum class SeriesStyle {
  kLine,         // with a dot at each point while there are few
  kDashed,       // the same
  kThin,         // a hairline, without dots
  kSteps,        // a bin of width 1 around each point
  kFilledSteps,  // and the area below
};

struct Interval {
  double x = 0, low = 0, high = 0;  // left out where `low` is no number; `high` may be infinite
};

struct Series {
  std::string label;
  Colour colour = kInk;
  SeriesStyle style = SeriesStyle::kLine;
  std::vector<Point> points;        // by x; one that is not finite leaves a gap
  std::vector<Interval> band = {};  // what the curve is known to; drawn below all curves
};

struct LineChart {
  std::string title;
  Axis x, y;
  std::vector<Series> series;  // later ones on top
};

enum class Legend { kNone, kBesideTitle };

/// Everything, title and labels too, stays inside `outer`.
void draw_line_chart(Figure& figure, const Rect& outer, const LineChart& chart, Legend legend);

/// The legend's entries in one line that ends at `right`; returns where it begins.
double draw_legend(Figure& figure, Point right, const std::vector<Series>& series);

/// Points at first, first + 1, ...
std::vector<Point> points_from(double first, const std::vector<double>& values);

}  // namespace linac::plot
