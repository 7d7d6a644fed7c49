#include "linac/physics/plot/line_chart.h"

#include <algorithm>
#include <cmath>
#include <ranges>

namespace linac::plot {
namespace {

constexpr double kLeft = 46, kRight = 8, kTop = 22, kBottom = 32;
constexpr size_t kDotsUpTo = 24;
constexpr double kDash = 4;
constexpr double kFillOpacity = 0.22, kBandOpacity = 0.2;

bool is_steps(SeriesStyle style) {
  return style == SeriesStyle::kSteps || style == SeriesStyle::kFilledSteps;
}

Stroke stroke_of(const Series& series) {
  return {.colour = series.colour,
          .width = series.style == SeriesStyle::kThin ? 0.6 : 1.6,
          .dash = series.style == SeriesStyle::kDashed ? kDash : 0};
}

// Runs of drawable points, as places on the sheet; gaps separate them.
std::vector<std::vector<Point>> runs(const Rect& area, const LineChart& chart, const Series& series) {
  std::vector<std::vector<Point>> result(1);
  for (const Point& point : series.points) {
    const bool drawable = std::isfinite(point.x) && std::isfinite(point.y);
    if (!drawable) {
      if (!result.back().empty()) result.emplace_back();
      continue;
    }
    if (is_steps(series.style)) {
      for (const double side : {-0.5, 0.5})
        result.back().push_back(place(area, chart.x, chart.y, {point.x + side, point.y}));
    } else {
      result.back().push_back(place(area, chart.x, chart.y, point));
    }
  }
  return result;
}

void draw_band(Figure& figure, const Rect& area, const LineChart& chart, const Series& series) {
  std::vector<Point> outline, below;
  for (const Interval& one : series.band) {
    if (!std::isfinite(one.x) || std::isnan(one.low) || std::isnan(one.high)) continue;
    const double above = std::isfinite(one.high) ? one.high : chart.y.high;
    outline.push_back(place(area, chart.x, chart.y, {one.x, above}));
    below.push_back(place(area, chart.x, chart.y, {one.x, std::isfinite(one.low) ? one.low : chart.y.high}));
  }
  outline.insert(outline.end(), below.rbegin(), below.rend());
  if (!outline.empty()) figure.polygon(outline, series.colour, kBandOpacity);
}

void draw_series(Figure& figure, const Rect& area, const LineChart& chart, const Series& series) {
  for (const auto& run : runs(area, chart, series)) {
    if (run.empty()) continue;
    if (series.style == SeriesStyle::kFilledSteps) {
      std::vector<Point> outline = run;
      outline.push_back({run.back().x, area.bottom()});
      outline.push_back({run.front().x, area.bottom()});
      figure.polygon(outline, series.colour, kFillOpacity);
    }
    figure.polyline(run, stroke_of(series));
    const bool dots = series.style == SeriesStyle::kLine || series.style == SeriesStyle::kDashed;
    if (!dots || series.points.size() > kDotsUpTo) continue;
    for (const Point& point : run) {
      figure.disc(point, 3, kPaper);
      figure.disc(point, 2.2, series.colour);
    }
  }
}

}  // namespace

std::vector<Point> points_from(double first, const std::vector<double>& values) {
  std::vector<Point> points;
  for (const double value : values) points.push_back({first + static_cast<double>(points.size()), value});
  return points;
}

double draw_legend(Figure& figure, Point right, const std::vector<Series>& series) {
  constexpr double kSample = 18, kGap = 5, kBetween = 14;
  const TextStyle style{.size = 8.5, .colour = kInk};
  double x = right.x;
  for (const Series& entry : series | std::views::reverse) {
    x -= figure.text_width(entry.label, style);
    figure.text({x, right.y}, entry.label, style);
    x -= kGap + kSample;
    if (entry.style == SeriesStyle::kFilledSteps) {
      const std::vector<Point> box{
          {x, right.y - 4}, {x + kSample, right.y - 4}, {x + kSample, right.y + 4}, {x, right.y + 4}};
      figure.polygon(box, entry.colour, kFillOpacity);
      figure.line(box[0], box[1], stroke_of(entry));
    } else {
      figure.line({x, right.y}, {x + kSample, right.y}, stroke_of(entry));
    }
    x -= kBetween;
  }
  return x;
}

void draw_line_chart(Figure& figure, const Rect& outer, const LineChart& chart, Legend legend) {
  const Rect area{outer.x + kLeft, outer.y + kTop, outer.width - kLeft - kRight, outer.height - kTop - kBottom};
  figure.text({area.x, outer.y + kTop / 2 - 1}, chart.title, {.size = 9.5, .weight = Weight::kBold});
  draw_frame(figure, area, chart.x, chart.y, Grid::kHorizontal);
  // A point on the rim keeps its whole dot.
  constexpr double kRim = 4;
  figure.clip({area.x - kRim, area.y - kRim, area.width + 2 * kRim, area.height + kRim});
  for (const Series& series : chart.series) draw_band(figure, area, chart, series);
  for (const Series& series : chart.series) draw_series(figure, area, chart, series);
  figure.unclip();
  if (legend == Legend::kBesideTitle) draw_legend(figure, {area.right(), outer.y + kTop / 2 - 1}, chart.series);
}

}  // namespace linac::plot
