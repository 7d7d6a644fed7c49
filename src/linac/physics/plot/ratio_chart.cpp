#include "linac/physics/plot/ratio_chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <utility>

#include "linac/base/base/error.h"
#include "linac/physics/plot/line_chart.h"

namespace linac::plot {
namespace {

constexpr double kLeft = 54, kRight = 12, kTop = 26, kPanelGap = 12, kPanelHeight = 82, kBelow = 32, kNoteHeight = 16;
constexpr double kPointShift = 2.5;
constexpr double kWellKnown = 1.0 / 3;  // relative error of ratios that decide on the axis
constexpr double kWorthShowing = 1e-4;  // of the reference's highest value, for the same
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Ratios beyond the axis: which way they are.
void draw_rim_marks(Figure& figure, const BinnedArea& where, std::span<const double> ratios) {
  constexpr double kHalf = 3, kTall = 5;
  for (size_t i = 0; i < ratios.size(); ++i) {
    if (!std::isfinite(ratios[i]) || (ratios[i] >= where.y.low && ratios[i] <= where.y.high)) continue;
    const Rect& area = where.area;
    const double x = place(area, where.x, where.y, {(where.edges[i] + where.edges[i + 1]) / 2, 1}).x;
    const bool above = ratios[i] > where.y.high;
    const double tip = above ? area.y : area.bottom(), base = above ? tip + kTall : tip - kTall;
    figure.polygon(std::array<Point, 3>{Point{x - kHalf, base}, Point{x + kHalf, base}, Point{x, tip}}, kSampleColour,
                   1);
  }
}

void draw_curves(Figure& figure, const BinnedArea& where, const RatioChart& chart) {
  if (chart.style == BinStyle::kPoints) {
    draw_points(figure, where, chart.reference, kReferenceColour, -kPointShift);
    draw_points(figure, where, chart.sample, kSampleColour, kPointShift);
    return;
  }
  draw_filled(figure, where, chart.reference.values, kReferenceColour);
  draw_band(figure, where, chart.reference, kReferenceColour);
  draw_steps(figure, where, chart.reference.values, {.colour = kReferenceColour, .width = 1.4});
  draw_band(figure, where, chart.sample, kSampleColour);
  draw_steps(figure, where, chart.sample.values, {.colour = kSampleColour, .width = 1.6});
}

void draw_ratio(Figure& figure, const BinnedArea& where, const RatioChart& chart) {
  const Binned ratio = ratio_of(chart.sample, chart.reference), itself = ratio_of(chart.reference, chart.reference);
  const double one = place(where.area, where.x, where.y, {where.x.low, 1}).y;
  if (chart.style == BinStyle::kPoints) {
    figure.line({where.area.x, one}, {where.area.right(), one}, {.colour = kReferenceColour, .width = 1});
    draw_points(figure, where, itself, kReferenceColour, -kPointShift);
    draw_points(figure, where, ratio, kSampleColour, kPointShift);
  } else {
    draw_band(figure, where, itself, kReferenceColour);
    figure.line({where.area.x, one}, {where.area.right(), one}, {.colour = kReferenceColour, .width = 1});
    draw_band(figure, where, ratio, kSampleColour);
    draw_steps(figure, where, ratio.values, {.colour = kSampleColour, .width = 1.6});
  }
  draw_rim_marks(figure, where, ratio.values);
}

void draw_marks(Figure& figure, const Rect& area, const Rect& panel, const RatioChart& chart) {
  for (const Mark& mark : chart.marks) {
    const double x = place(area, chart.x, chart.y, {mark.x, chart.y.low}).x;
    if (x < area.x || x > area.right()) continue;
    figure.line({x, area.y}, {x, panel.bottom()}, {.colour = kSoftInk, .width = 0.8, .dash = 3});
    figure.text({x + 5, area.bottom() - 9}, mark.label, {.size = 8, .colour = kSoftInk});
  }
}

}  // namespace

Binned ratio_of(const Binned& sample, const Binned& reference) {
  LINAC_CHECK(sample.values.size() == reference.values.size());
  Binned ratio;
  for (size_t i = 0; i < sample.values.size(); ++i) {
    const double below = reference.values[i] > 0 ? reference.values[i] : kNan;
    ratio.values.push_back(sample.values[i] / below);
    ratio.errors.push_back(sample.up(i) / below);
    ratio.below.push_back(sample.down(i) / below);
  }
  return ratio;
}

Axis ratio_axis(const Binned& ratio, const Binned& reference, std::string label) {
  const double highest =
      reference.values.empty() ? 0 : *std::max_element(reference.values.begin(), reference.values.end());
  std::vector<double> known, all;
  for (size_t i = 0; i < ratio.values.size(); ++i) {
    if (!std::isfinite(ratio.values[i])) continue;
    all.push_back(ratio.values[i]);
    if (reference.values[i] > kWorthShowing * highest && ratio.up(i) < kWellKnown * std::max(ratio.values[i], 0.1)) {
      known.push_back(ratio.values[i]);
    }
  }
  std::vector<double>& values = known.empty() ? all : known;
  if (values.empty()) return {.low = 0.5, .high = 1.5, .label = std::move(label)};
  std::sort(values.begin(), values.end());
  if (values[(values.size() - 1) / 2] > 2) {
    const double high = values.back() < 10 ? 10 : values.back() < 100 ? 100 : 1000;
    return {.low = 1 / high, .high = high, .scale = Scale::kLog, .label = std::move(label)};
  }
  if (values.back() > 2) return {.low = 0, .high = 3, .label = std::move(label)};
  const double far = std::max(1 - values.front(), values.back() - 1);
  double half = 1;
  for (const double narrower : {0.5, 0.2, 0.1, 0.05})
    if (far < 0.95 * narrower) half = narrower;
  return {.low = 1 - half, .high = 1 + half, .label = std::move(label)};
}

void draw_pair_legend(Figure& figure, Point right, const std::string& reference, const std::string& sample,
                      BinStyle style, double width_max) {
  constexpr double kSamples = 2 * 23 + 14, kDotGap = 8, kBetween = 14;
  const TextStyle text{.size = 8.5};
  const double each = (width_max - kSamples) / 2;
  const std::string first = figure.elided(reference, each, text), second = figure.elided(sample, each, text);
  if (style == BinStyle::kSteps) {
    draw_legend(figure, right,
                {{.label = first, .colour = kReferenceColour, .style = SeriesStyle::kFilledSteps, .points = {}},
                 {.label = second, .colour = kSampleColour, .style = SeriesStyle::kSteps, .points = {}}});
    return;
  }
  double x = right.x;
  for (const auto& [label, colour] : {std::pair{&second, kSampleColour}, std::pair{&first, kReferenceColour}}) {
    x -= figure.text_width(*label, text);
    figure.text({x, right.y}, *label, text);
    x -= kDotGap;
    figure.disc({x, right.y}, 2.8, colour);
    x -= kBetween;
  }
}

void draw_ratio_panels(Figure& figure, const RatioAreas& areas, const RatioChart& chart) {
  const auto& [area, panel] = areas;
  draw_y_axis(figure, area, chart.y, Grid::kHorizontal);
  figure.line({area.x, area.bottom()}, {area.right(), area.bottom()}, {.colour = kAxisGrey, .width = 0.8});
  draw_curves(figure, {area, chart.x, chart.y, chart.edges}, chart);
  figure.clip(area);
  for (const Curve& curve : chart.curves) {
    std::vector<Point> points;
    for (const Point& point : curve.points) points.push_back(place(area, chart.x, chart.y, point));
    figure.polyline(points, {.colour = curve.colour, .width = 1, .dash = 3});
  }
  figure.unclip();

  const std::string label =
      chart.ratio_label.empty() ? chart.sample_name + " / " + chart.reference_name : chart.ratio_label;
  const Axis ratio = ratio_axis(ratio_of(chart.sample, chart.reference), chart.reference,
                                figure.elided(label, panel.height + kPanelGap, {.size = 8.5}));
  draw_y_axis(figure, panel, ratio, Grid::kHorizontal);
  draw_x_axis(figure, panel, chart.x);
  draw_ratio(figure, {panel, chart.x, ratio, chart.edges}, chart);
  draw_marks(figure, area, panel, chart);
}

void draw_ratio_chart(Figure& figure, const Rect& outer, const RatioChart& chart) {
  const double width = outer.width - kLeft - kRight;
  const Rect panel{outer.x + kLeft, outer.bottom() - kNoteHeight - kBelow - kPanelHeight, width, kPanelHeight};
  const Rect area{panel.x, outer.y + kTop, width, panel.y - kPanelGap - outer.y - kTop};
  const TextStyle title{.size = 10, .weight = Weight::kBold};
  figure.text({area.x, outer.y + 12}, chart.title, title);
  draw_pair_legend(figure, {area.right(), outer.y + 12}, chart.reference_name, chart.sample_name, chart.style,
                   width - figure.text_width(chart.title, title) - 16);
  draw_ratio_panels(figure, {area, panel}, chart);
  figure.text({area.x, outer.bottom() - kNoteHeight / 2}, chart.note, {.size = 8, .colour = kSoftInk});
}

}  // namespace linac::plot
