#pragma once
// What is known bin by bin: drawn as steps, as a filled area, as a band of uncertainty or as points with error bars.
// Everything is cut at the plot area but for the points' rims. Thread-safe for different figures.

#include <span>
#include <vector>

#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/figure.h"

namespace linac::plot {

/// Values of bins, and their standard deviations: none, or one a value. What is not finite leaves a gap.
struct Binned {
  std::vector<double> values, errors;
  std::vector<double> below = {};  // errors to that side, where they are others

  double up(size_t bin) const { return errors.empty() ? 0 : errors[bin]; }
  double down(size_t bin) const { return below.empty() ? up(bin) : below[bin]; }
};

/// Where a figure of bins is drawn; bin i lies between edges[i] and edges[i + 1].
struct BinnedArea {
  Rect area;
  Axis x, y;
  std::span<const double> edges;
};

/// 0, 1, ... bins.
std::vector<double> whole_edges(size_t bins);

void draw_steps(Figure& figure, const BinnedArea& where, std::span<const double> values, const Stroke& stroke);
/// The area between the steps and the x axis.
void draw_filled(Figure& figure, const BinnedArea& where, std::span<const double> values, Colour fill);
/// One standard deviation to both sides.
void draw_band(Figure& figure, const BinnedArea& where, const Binned& binned, Colour fill);
/// Discs in the middle of the bins, moved right by `shift`, with bars of one standard deviation.
void draw_points(Figure& figure, const BinnedArea& where, const Binned& binned, Colour colour, double shift = 0);

}  // namespace linac::plot
