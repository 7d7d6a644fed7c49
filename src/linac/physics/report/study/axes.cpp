#include "linac/physics/report/study/axes.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linac::report {
namespace {

constexpr double kMargin = 0.03;  // of a range, beyond its ends
constexpr double kShown = 0.9;    // so many of the values, the best, decide an axis ...
constexpr double kBeyond = 1.0;   // ... which goes on by so much of their range for the others

}  // namespace

plot::Axis axis_of(const StudyParameter& parameter) {
  plot::Axis axis{.low = parameter.low, .high = parameter.high, .label = parameter.name};
  if (!parameter.choices.empty()) {
    axis.low = -0.5;
    axis.high = static_cast<double>(parameter.choices.size()) - 0.5;
  } else if (parameter.log) {
    const double margin = std::pow(parameter.high / parameter.low, kMargin);
    axis.low /= margin;
    axis.high *= margin;
    axis.scale = plot::Scale::kLog;
  } else {
    const double margin = kMargin * (parameter.high - parameter.low);
    axis.low -= margin;
    axis.high += margin;
  }
  return axis;
}

void draw_parameter_axis(plot::Figure& figure, const plot::Rect& area, const StudyParameter& parameter) {
  const plot::Axis axis = axis_of(parameter);
  if (parameter.choices.empty()) return plot::draw_x_axis(figure, area, axis);
  figure.line({area.x, area.bottom()}, {area.right(), area.bottom()}, {.colour = plot::kAxisGrey});
  const double room = area.width / static_cast<double>(parameter.choices.size());
  const plot::TextStyle style{.size = 8.5, .colour = plot::kSoftInk, .align = plot::Align::kCentre};
  for (size_t i = 0; i < parameter.choices.size(); ++i)
    figure.text({area.x + (static_cast<double>(i) + 0.5) * room, area.bottom() + 11},
                figure.elided(parameter.choices[i], room - 4, style), style);
  figure.text({area.x + area.width / 2, area.bottom() + 26}, parameter.name,
              {.size = 9.5, .colour = plot::kSoftInk, .align = plot::Align::kCentre});
}

plot::Axis values_axis(const std::vector<double>& values, const StudyObjective& objective) {
  std::vector<double> sorted;
  for (const double value : values)
    if (std::isfinite(value)) sorted.push_back(value);
  if (sorted.empty()) return {.low = 0, .high = 1, .label = objective.name};
  std::sort(sorted.begin(), sorted.end());
  if (objective.maximize) std::reverse(sorted.begin(), sorted.end());
  const double best = sorted[0], most = sorted[static_cast<size_t>(kShown * static_cast<double>(sorted.size() - 1))];
  std::vector<double> shown;
  for (const double value : sorted)
    if (std::abs(value - best) <= (1 + kBeyond) * std::abs(most - best)) shown.push_back(value);
  return plot::axis_close_to(shown, objective.name);
}

double value_of(const StudyTrial& trial) {
  if (trial.complete()) return trial.values[0];
  if (trial.state == "pruned" && !trial.curve.empty()) return trial.curve.back().second;
  return std::numeric_limits<double>::quiet_NaN();
}

}  // namespace linac::report
