#include "linac/physics/plot/losses.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include "linac/physics/plot/line_chart.h"

namespace linac::plot {
namespace {

constexpr double kWidth = 980, kRowHeight = 354, kTop = 46, kMargin = 14;
constexpr size_t kChartsInRow = 2;
constexpr double kLogFromRatio = 3;
constexpr std::array<Colour, 4> kColours{
    {{0.17, 0.39, 0.68}, {0.89, 0.34, 0.20}, {0.16, 0.56, 0.42}, {0.55, 0.34, 0.62}}};

// Empty ones are left out, so that no legend names what is not there.
void add_series(std::vector<Series>& series, const std::string& label, Colour colour, SeriesStyle style,
                const std::vector<double>& values) {
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    series.push_back({.label = label, .colour = colour, .style = style, .points = points_from(1, values)});
}

LineChart chart_of(const LossChart& chart, std::vector<Series> series) {
  std::vector<double> values;
  double epochs = 1, low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Series& one : series) {
    epochs = std::max(epochs, static_cast<double>(one.points.size()));
    for (const Point& point : one.points) {
      if (!std::isfinite(point.y)) continue;
      values.push_back(point.y);
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  const bool wide = low > 0 && high / low > kLogFromRatio;
  const std::string& label = chart.axis.empty() ? chart.title : chart.axis;
  return {.title = chart.title,
          .x = {.low = epochs > 1 ? 1 : 0.5,
                .high = epochs > 1 ? epochs : 1.5,
                .label = "epoch",
                .tick_values = TickValues::kWhole},
          .y = wide ? axis_around(values, Scale::kLog, label) : axis_close_to(values, label),
          .series = std::move(series)};
}

}  // namespace

Picture draw_losses(const std::string& title, const std::vector<LossChart>& charts) {
  const size_t rows = (charts.size() + kChartsInRow - 1) / kChartsInRow;
  Figure figure(kWidth, kTop + static_cast<double>(rows) * kRowHeight);
  figure.text({kMargin + 46, 24}, title, {.size = 14, .weight = Weight::kBold});
  const double half = (kWidth - 2 * kMargin) / 2;
  size_t colour = 0;
  for (size_t i = 0; i < charts.size(); ++i) {
    std::vector<Series> series;
    for (const LossLine& line : charts[i].lines) {
      const Colour shade = kColours[colour++ % kColours.size()];
      const bool alone = line.label.empty();
      add_series(series, alone ? "training" : line.label, shade, SeriesStyle::kLine, line.train);
      add_series(series, alone ? "test" : line.label + ", test", shade, SeriesStyle::kDashed, line.test);
    }
    const double x = kMargin + (i % kChartsInRow == 0 ? 0 : half + 8);
    const double y = kTop + static_cast<double>(i / kChartsInRow) * kRowHeight;
    draw_line_chart(figure, {x, y, half - 8, kRowHeight - 8}, chart_of(charts[i], std::move(series)),
                    Legend::kBesideTitle);
  }
  return figure.picture();
}

}  // namespace linac::plot
