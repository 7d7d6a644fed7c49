#pragma once
// A sample over its reference: both curves with their uncertainties, and below them their ratio. Thread-safe for
// different figures.

#include <string>
#include <vector>

#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/binned.h"
#include "linac/physics/plot/figure.h"

namespace linac::plot {

enum class BinStyle {
  kSteps,   // the reference filled, bands of uncertainty
  kPoints,  // points with error bars
};

struct Mark {  // a dashed line at a place of the x axis
  double x = 0;
  std::string label;
};

struct Curve {  // a thin dashed line over the points
  Colour colour;
  std::vector<Point> points;
};

struct RatioChart {
  std::string title, note;  // above, in bold; below, in grey
  Axis x, y;
  std::vector<double> edges;  // of the bins; one more than values
  std::string reference_name, sample_name;
  Binned reference, sample;
  BinStyle style = BinStyle::kSteps;
  std::vector<Mark> marks;
  std::vector<Curve> curves = {};
  std::string ratio_label = {};  // empty: the names, "sample / reference"
};

/// sample / reference with the sample's errors; NaN where the reference is not above 0. Of the reference
/// with itself: 1 with the reference's errors.
Binned ratio_of(const Binned& sample, const Binned& reference);

/// Around 1: +-0.05, 0.1, 0.2, 0.5 or 1, the narrowest that holds the ratios that are known to better than a third and
/// not in the reference's last traces (all, if there are none); 0 to 3 for higher ones; logarithmic, from 1/10 to 10 or
/// up to three decades, where most exceed 2.
Axis ratio_axis(const Binned& ratio, const Binned& reference, std::string label);

/// Where its two parts go; axes need about 50 to the left and 32 below.
struct RatioAreas {
  Rect curves, ratio;
};

/// Both parts with their axes, without title, names and note. Ratios beyond their axis become small triangles at its
/// rim.
void draw_ratio_panels(Figure& figure, const RatioAreas& areas, const RatioChart& chart);

/// The whole chart, inside `outer`.
void draw_ratio_chart(Figure& figure, const Rect& outer, const RatioChart& chart);

/// The names with their colours in one line that ends at `right`, as draw_ratio_chart() has them; elided beyond
/// `width_max`.
void draw_pair_legend(Figure& figure, Point right, const std::string& reference, const std::string& sample,
                      BinStyle style, double width_max);

}  // namespace linac::plot
