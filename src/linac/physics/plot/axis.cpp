#include "linac/physics/plot/axis.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <limits>
#include <numbers>

namespace linac::plot {
namespace {

constexpr double kTickLength = 3;
constexpr TextStyle kTickText{.size = 8, .colour = kSoftInk};
constexpr TextStyle kLabelText{.size = 8.5, .colour = kInk, .align = Align::kCentre};
constexpr Stroke kThin{.colour = kAxisGrey, .width = 0.8};
constexpr double kNarrowestLabel = 18;  // axes above each other have their names in one line
constexpr double kWidthPerTick = 27, kHeightPerTick = 24;

// 1, 2 or 5 times a power of ten, not below `value`.
double round_up(double value) {
  const double power = std::pow(10, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= value * (1 - 1e-9)) return factor * power;
  return 10 * power;
}

double round_down(double value) {
  const double power = std::pow(10, std::floor(std::log10(value) + 1e-12));
  for (const double factor : {5.0, 2.0})
    if (factor * power <= value * (1 + 1e-9)) return factor * power;
  return power;
}

std::vector<Tick> log_ticks(const Axis& axis, int wanted) {
  std::vector<Tick> result;
  const int first = static_cast<int>(std::floor(std::log10(axis.low) + 1e-9)),
            last = static_cast<int>(std::floor(std::log10(axis.high) + 1e-9));
  const double decades = std::log10(axis.high / axis.low);
  const bool narrow = axis.tick_values == TickValues::kPlain ? decades < 3 + 1e-9 : decades < 2;
  const int stride = std::max(1, (last - first + wanted) / std::max(1, wanted));
  for (int exponent = first; exponent <= last; ++exponent) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10, exponent);
      if (value < axis.low * (1 - 1e-9) || value > axis.high * (1 + 1e-9)) continue;
      if (narrow) result.push_back({value, fmt::format("{:g}", value)});
      if (!narrow && factor == 1 && (last - exponent) % stride == 0) result.push_back({value, power_of_ten(exponent)});
    }
  }
  return result;
}

}  // namespace

double Axis::fraction(double value) const {
  if (scale == Scale::kLinear) return (value - low) / (high - low);
  if (!(value > 0)) return -std::numeric_limits<double>::infinity();
  return std::log(value / low) / std::log(high / low);
}

std::string power_of_ten(int exponent) {
  static constexpr std::array<const char*, 10> kDigits{"⁰", "¹", "²", "³", "⁴", "⁵", "⁶", "⁷", "⁸", "⁹"};
  std::string text = exponent < 0 ? "10⁻" : "10";
  for (const char digit : std::to_string(std::abs(exponent))) text += kDigits[static_cast<size_t>(digit - '0')];
  return text;
}

std::vector<Tick> ticks(const Axis& axis, int wanted) {
  if (axis.scale == Scale::kLog) return log_ticks(axis, wanted);
  double step = round_up((axis.high - axis.low) / std::max(1, wanted));
  if (axis.tick_values == TickValues::kWhole) step = std::max(1.0, step);
  std::vector<Tick> result;
  const auto first = static_cast<int64_t>(std::ceil(axis.low / step - 1e-9)),
             last = static_cast<int64_t>(std::floor(axis.high / step + 1e-9));
  for (int64_t i = first; i <= last; ++i) {
    const double value = static_cast<double>(i) * step;
    result.push_back({value, fmt::format("{:.6g}", value)});
  }
  return result;
}

Axis axis_around(const std::vector<double>& values, Scale scale, std::string label) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value) || (scale == Scale::kLog && value <= 0)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return {.low = scale == Scale::kLog ? 0.1 : 0, .high = 1, .scale = scale, .label = std::move(label)};
  if (scale == Scale::kLog) {
    low = round_down(low);
    high = std::max(round_up(high), low * 10);
    return {.low = low, .high = high, .scale = scale, .label = std::move(label)};
  }
  if (low > 0) low = 0;
  if (high <= low) high = low + 1;
  return {.low = low, .high = high + 0.06 * (high - low), .scale = scale, .label = std::move(label)};
}

Axis axis_close_to(const std::vector<double>& values, std::string label) {
  constexpr double kMargin = 0.08, kNarrowest = 1e-3;  // of the span; of the values' size
  Axis axis = axis_around(values, Scale::kLinear, std::move(label));
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const double value : values) {
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  if (low > high) return axis;
  const double size = std::max(std::abs(low), std::abs(high)), least = size > 0 ? kNarrowest * size : 1;
  const double margin = std::max(kMargin * (high - low), least);
  axis.low = low >= 0 ? std::max(0.0, low - margin) : low - margin;
  axis.high = high + margin;
  return axis;
}

Point place(const Rect& area, const Axis& x, const Axis& y, Point point) {
  // Far below the area rather than at infinity, which no path takes.
  const double up = std::clamp(y.fraction(point.y), -10.0, 10.0);
  return {area.x + area.width * std::clamp(x.fraction(point.x), -10.0, 10.0), area.bottom() - area.height * up};
}

void draw_x_axis(Figure& figure, const Rect& area, const Axis& x) {
  TextStyle below = kTickText;
  below.align = Align::kCentre;
  for (const Tick& tick : ticks(x, std::max(2, static_cast<int>(area.width / kWidthPerTick)))) {
    const double at = area.x + area.width * x.fraction(tick.value);
    figure.line({at, area.bottom()}, {at, area.bottom() + kTickLength}, kThin);
    figure.text({at, area.bottom() + kTickLength + 7}, tick.label, below);
  }
  figure.line({area.x, area.bottom()}, {area.right(), area.bottom()}, kThin);
  figure.text({area.x + area.width / 2, area.bottom() + 22}, x.label, kLabelText);
}

void draw_y_axis(Figure& figure, const Rect& area, const Axis& y, Grid grid) {
  TextStyle left = kTickText;
  left.align = Align::kRight;
  double widest = kNarrowestLabel;
  for (const Tick& tick : ticks(y, std::max(2, static_cast<int>(area.height / kHeightPerTick)))) {
    const double at = area.bottom() - area.height * y.fraction(tick.value);
    if (grid == Grid::kHorizontal) figure.line({area.x, at}, {area.right(), at}, {.colour = kGridGrey, .width = 0.8});
    figure.line({area.x - kTickLength, at}, {area.x, at}, kThin);
    figure.text({area.x - kTickLength - 3, at}, tick.label, left);
    widest = std::max(widest, figure.text_width(tick.label, left));
  }
  figure.line({area.x, area.y}, {area.x, area.bottom()}, kThin);
  TextStyle upward = kLabelText;
  upward.angle = -std::numbers::pi / 2;
  figure.text({area.x - kTickLength - 3 - widest - 9, area.y + area.height / 2}, y.label, upward);
}

void draw_frame(Figure& figure, const Rect& area, const Axis& x, const Axis& y, Grid grid) {
  draw_y_axis(figure, area, y, grid);
  draw_x_axis(figure, area, x);
}

}  // namespace linac::plot
