#include "linac/physics/plot/binned.h"

#include <algorithm>
#include <cmath>

#include "linac/base/base/error.h"

namespace linac::plot {
namespace {

constexpr double kFillOpacity = 0.22, kBandOpacity = 0.28;
constexpr double kRim = 4;

double left_of(const BinnedArea& where, size_t bin) {
  return place(where.area, where.x, where.y, {where.edges[bin], where.y.low}).x;
}

double height_of(const BinnedArea& where, double value) {
  return place(where.area, where.x, where.y, {where.x.low, value}).y;
}

// [first, last) of the bins with values, without gaps.
struct Run {
  size_t first, last;
};

std::vector<Run> runs(std::span<const double> values) {
  std::vector<Run> found;
  for (size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) continue;
    if (found.empty() || found.back().last != i) found.push_back({i, i});
    found.back().last = i + 1;
  }
  return found;
}

std::vector<Point> outline(const BinnedArea& where, std::span<const double> values, const Run& run) {
  std::vector<Point> points;
  for (size_t i = run.first; i < run.last; ++i)
    for (const size_t side : {i, i + 1}) points.push_back({left_of(where, side), height_of(where, values[i])});
  return points;
}

// Cut at the area, while one is alive.
class Clip {
 public:
  Clip(Figure& figure, const Rect& area) : figure_(figure) { figure.clip(area); }
  ~Clip() { figure_.unclip(); }
  Clip(const Clip&) = delete;
  Clip& operator=(const Clip&) = delete;

 private:
  Figure& figure_;
};

}  // namespace

std::vector<double> whole_edges(size_t bins) {
  std::vector<double> edges(bins + 1);
  for (size_t i = 0; i < edges.size(); ++i) edges[i] = static_cast<double>(i);
  return edges;
}

void draw_steps(Figure& figure, const BinnedArea& where, std::span<const double> values, const Stroke& stroke) {
  LINAC_CHECK(where.edges.size() == values.size() + 1);
  const Clip clip(figure, where.area);
  for (const Run& run : runs(values)) figure.polyline(outline(where, values, run), stroke);
}

void draw_filled(Figure& figure, const BinnedArea& where, std::span<const double> values, Colour fill) {
  LINAC_CHECK(where.edges.size() == values.size() + 1);
  const Clip clip(figure, where.area);
  for (const Run& run : runs(values)) {
    std::vector<Point> points = outline(where, values, run);
    points.push_back({points.back().x, where.area.bottom()});
    points.push_back({points.front().x, where.area.bottom()});
    figure.polygon(points, fill, kFillOpacity);
  }
}

void draw_band(Figure& figure, const BinnedArea& where, const Binned& binned, Colour fill) {
  if (binned.errors.empty()) return;
  LINAC_CHECK(where.edges.size() == binned.values.size() + 1 && binned.errors.size() == binned.values.size());
  const Clip clip(figure, where.area);
  std::vector<double> low(binned.values.size()), high(low.size());
  for (size_t i = 0; i < low.size(); ++i) {
    low[i] = binned.values[i] - binned.down(i);
    high[i] = binned.values[i] + binned.up(i);
  }
  for (const Run& run : runs(high)) {
    std::vector<Point> points = outline(where, high, run), below = outline(where, low, run);
    points.insert(points.end(), below.rbegin(), below.rend());
    figure.polygon(points, fill, kBandOpacity);
  }
}

void draw_points(Figure& figure, const BinnedArea& where, const Binned& binned, Colour colour, double shift) {
  LINAC_CHECK(where.edges.size() == binned.values.size() + 1);
  const Clip clip(
      figure, {where.area.x - kRim, where.area.y - kRim, where.area.width + 2 * kRim, where.area.height + 2 * kRim});
  for (size_t i = 0; i < binned.values.size(); ++i) {
    const double value = binned.values[i];
    if (!std::isfinite(value)) continue;
    const double x = (left_of(where, i) + left_of(where, i + 1)) / 2 + shift;
    if (!binned.errors.empty() && std::isfinite(binned.up(i))) {
      figure.line({x, height_of(where, value - binned.down(i))}, {x, height_of(where, value + binned.up(i))},
                  {.colour = colour, .width = 1.3});
    }
    figure.disc({x, height_of(where, value)}, 3.2, kPaper);
    figure.disc({x, height_of(where, value)}, 2.5, colour);
  }
}

}  // namespace linac::plot
