#include "linac/plot/losses.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/plot/line_chart.h"

namespace linac::plot {
namespace {

constexpr double kWidth = 980, kHeight = 400, kTop = 46, kMargin = 14;
constexpr double kLogFromRatio = 30;
constexpr Colour kRealColour{0.17, 0.39, 0.68}, kFakeColour{0.89, 0.34, 0.20}, kGeneratorColour{0.16, 0.56, 0.42};

// Empty ones are left out, so that no legend names what is not there.
void add_series(std::vector<Series>& series, const std::string& label, Colour colour, SeriesStyle style,
                const std::vector<double>& values) {
  if (std::any_of(values.begin(), values.end(), [](double value) { return std::isfinite(value); }))
    series.push_back({.label = label, .colour = colour, .style = style, .points = points_from(1, values)});
}

LineChart chart_of(std::string title, std::vector<Series> series) {
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
  return {.title = std::move(title),
          .x = {.low = epochs > 1 ? 1 : 0.5,
                .high = epochs > 1 ? epochs : 1.5,
                .label = "epoch",
                .tick_values = TickValues::kWhole},
          .y = axis_around(values, wide ? Scale::kLog : Scale::kLinear, "loss"),
          .series = std::move(series)};
}

}  // namespace

Picture draw_losses(const std::string& title, const LossHistory& train, const LossHistory& test) {
  std::vector<Series> discriminator, generator;
  add_series(discriminator, "real", kRealColour, SeriesStyle::kLine, train.d_real);
  add_series(discriminator, "generated", kFakeColour, SeriesStyle::kLine, train.d_fake);
  add_series(discriminator, "real, test", kRealColour, SeriesStyle::kDashed, test.d_real);
  add_series(discriminator, "generated, test", kFakeColour, SeriesStyle::kDashed, test.d_fake);
  add_series(generator, "training", kGeneratorColour, SeriesStyle::kLine, train.g);
  add_series(generator, "test", kGeneratorColour, SeriesStyle::kDashed, test.g);

  Figure figure(kWidth, kHeight);
  figure.text({kMargin + 46, 24}, title, {.size = 14, .weight = Weight::kBold});
  const double half = (kWidth - 2 * kMargin) / 2;
  draw_line_chart(figure, {kMargin, kTop, half - 8, kHeight - kTop - 8},
                  chart_of("discriminator", std::move(discriminator)), Legend::kBesideTitle);
  draw_line_chart(figure, {kMargin + half + 8, kTop, half - 8, kHeight - kTop - 8},
                  chart_of("generator", std::move(generator)), Legend::kBesideTitle);
  return figure.picture();
}

Picture write_loss_png(const std::filesystem::path& path, const std::string& title, const LossHistory& train,
                       const LossHistory& test) {
  Picture picture = draw_losses(title, train, test);
  write_picture(path, picture);
  return picture;
}

}  // namespace linac::plot
