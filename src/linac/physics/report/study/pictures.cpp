#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/physics/plot/colour_scale.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/study/axes.h"
#include "linac/physics/report/study/report.h"

namespace linac::report {
namespace {

using plot::Colour;

constexpr size_t kSlicesMax = 12, kAxesMax = 10;
constexpr std::ptrdiff_t kSliceTrialsMin = 3;
constexpr Colour kTrialColour{0.62, 0.66, 0.74}, kBestColour = plot::kSampleColour, kBarColour{0.24, 0.47, 0.72};
constexpr plot::TextStyle kTitle{.size = 12, .weight = plot::Weight::kBold};
constexpr plot::TextStyle kSmall{.size = 8, .colour = plot::kSoftInk};

/// A sheet with a title and the area of its plot.
struct Sheet {
  plot::Figure figure;
  plot::Rect area;

  Sheet(double width, double height, const std::string& title, double left = 62, double right = 22)
      : figure(width, height), area{left, 42, width - left - right, height - 42 - 44} {
    figure.text({18, 18}, figure.elided(title, width - 36, kTitle), kTitle);
  }
};

std::string arrow(const StudyObjective& objective) {
  return objective.maximize ? "more is better" : "less is better";
}

std::vector<double> values_of(const StudyRecord& record, size_t objective) {
  std::vector<double> values;
  for (const StudyTrial& trial : record.trials)
    if (trial.complete()) values.push_back(trial.values[objective]);
  return values;
}

/// 0 at the worst value that an axis shows to 1 at the best.
double goodness(const plot::Axis& axis, const StudyObjective& objective, double value) {
  const double share = std::clamp(axis.fraction(value), 0.0, 1.0);
  return objective.maximize ? share : 1 - share;
}

NamedPicture history_picture(const StudyRecord& record) {
  const StudyObjective& objective = record.objectives[0];
  Sheet sheet(kWide, 330, "the best over time");
  const plot::Axis x{.low = 0,
                     .high = static_cast<double>(record.trials.size()) + 1,
                     .label = "trial",
                     .tick_values = plot::TickValues::kWhole};
  std::vector<double> all;
  for (const StudyTrial& trial : record.trials) all.push_back(value_of(trial));
  const plot::Axis y = values_axis(all, objective);
  plot::draw_frame(sheet.figure, sheet.area, x, y, plot::Grid::kHorizontal);
  sheet.figure.clip(sheet.area);
  std::vector<plot::Point> best;
  double value = std::numeric_limits<double>::quiet_NaN();
  for (size_t i = 0; i < record.trials.size(); ++i) {
    const StudyTrial& trial = record.trials[i];
    const auto at = static_cast<double>(i + 1);
    if (const double own = value_of(trial); std::isfinite(own)) {
      const plot::Point point = plot::place(sheet.area, x, y, {at, own});
      sheet.figure.disc(point, trial.complete() ? 2.6 : 1.6, trial.complete() ? kTrialColour : plot::kAxisGrey);
    }
    if (!trial.complete()) continue;
    const double own = trial.values[0];
    if (!best.empty()) best.push_back(plot::place(sheet.area, x, y, {at, value}));
    if (std::isnan(value) || (objective.maximize ? own > value : own < value)) value = own;
    best.push_back(plot::place(sheet.area, x, y, {at, value}));
  }
  if (!best.empty()) best.push_back(plot::place(sheet.area, x, y, {x.high, value}));
  sheet.figure.polyline(best, {.colour = kBestColour, .width = 2});
  sheet.figure.unclip();
  return {"history", "the best over time",
          fmt::format("Each trial's {} ({}); small: pruned, its last value. The line is the best so far. Values far "
                      "from the best lie beyond the axis.",
                      objective.name, arrow(objective)),
          sheet.figure.picture()};
}

NamedPicture front_picture(const StudyRecord& record) {
  const StudyObjective &first = record.objectives[0], &second = record.objectives[1];
  Sheet sheet(kNarrow, kNarrowHeight, "the front");
  const plot::Axis x = values_axis(values_of(record, 0), first), y = values_axis(values_of(record, 1), second);
  plot::draw_frame(sheet.figure, sheet.area, x, y, plot::Grid::kHorizontal);
  sheet.figure.clip(sheet.area);
  for (const StudyTrial& trial : record.trials)
    if (trial.complete())
      sheet.figure.disc(plot::place(sheet.area, x, y, {trial.values[0], trial.values[1]}), 2.4, kTrialColour);
  std::vector<plot::Point> front;
  for (const int64_t number : record.front) {
    const StudyTrial& trial = *record.find(number);
    front.push_back(plot::place(sheet.area, x, y, {trial.values[0], trial.values[1]}));
  }
  std::sort(front.begin(), front.end(), [](const auto& a, const auto& b) { return a.x < b.x; });
  if (record.objectives.size() == 2) sheet.figure.polyline(front, {.colour = kBestColour, .width = 1, .dash = 4});
  for (const plot::Point& point : front) sheet.figure.disc(point, 3.2, kBestColour);
  sheet.figure.unclip();
  return {"front", "the front",
          fmt::format("Trials by {} ({}) and {} ({}); in colour those that no other one beats in all {} objectives.",
                      first.name, arrow(first), second.name, arrow(second), record.objectives.size()),
          sheet.figure.picture()};
}

NamedPicture importance_picture(const StudyRecord& record, size_t objective) {
  constexpr double kRow = 22;
  const std::vector<double>& shares = record.importance[objective];
  std::vector<size_t> order = record.by_importance();
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return shares[a] > shares[b]; });
  const size_t rows = std::min(order.size(), kSlicesMax);
  Sheet sheet(kNarrow, std::max(kNarrowHeight, 80 + kRow * static_cast<double>(rows)),
              record.objectives.size() == 1 ? "importance" : "importance for " + record.objectives[objective].name, 160,
              52);
  const plot::TextStyle name_style{.size = 8.5, .align = plot::Align::kRight};
  double longest = 0;
  for (const double share : shares) longest = std::max(longest, share);
  for (size_t i = 0; i < rows; ++i) {
    const double middle = sheet.area.y + 14 + kRow * static_cast<double>(i), share = shares[order[i]];
    sheet.figure.text({sheet.area.x - 8, middle},
                      sheet.figure.elided(record.parameters[order[i]].name, sheet.area.x - 26, name_style), name_style);
    const double width = sheet.area.width * share / longest;
    if (width > 0) sheet.figure.rectangle({sheet.area.x, middle - 7, width, 14}, kBarColour);
    sheet.figure.text({sheet.area.x + width + 7, middle}, percent(share), kSmall);
  }
  return {objective == 0 ? "importance" : fmt::format("importance-{}", objective + 1), "importance",
          fmt::format("What each parameter alone explains of how {} varies over the space, as a share of what all of "
                      "them explain.",
                      record.objectives[objective].name),
          sheet.figure.picture()};
}

NamedPicture parallel_picture(const StudyRecord& record) {
  const StudyObjective& objective = record.objectives[0];
  const std::vector<size_t> order = record.by_importance();
  const size_t shown = std::min(order.size(), kAxesMax);
  Sheet sheet(kWide, 380, "all parameters", 52, 92);
  const plot::Axis values = values_axis(values_of(record, 0), objective);
  const auto column = [&](size_t i) {
    return sheet.area.x +
           sheet.area.width * (shown > 1 ? static_cast<double>(i) / static_cast<double>(shown - 1) : 0.5);
  };
  std::vector<const StudyTrial*> trials;
  for (const StudyTrial& trial : record.trials)
    if (trial.complete()) trials.push_back(&trial);
  std::stable_sort(trials.begin(), trials.end(), [&](const auto* a, const auto* b) {
    return objective.maximize ? a->values[0] < b->values[0] : a->values[0] > b->values[0];
  });
  for (size_t k = 0; k < trials.size(); ++k) {
    const double good = goodness(values, objective, trials[k]->values[0]);
    std::vector<plot::Point> line;
    for (size_t i = 0; i < shown; ++i) {
      const double at = trials[k]->at[order[i]];
      if (std::isnan(at)) continue;  // past the axis of an inactive parameter
      const double up = axis_of(record.parameters[order[i]]).fraction(at);
      line.push_back({column(i), sheet.area.bottom() - sheet.area.height * up});
    }
    sheet.figure.polyline(line, {.colour = plot::viridis(0.92 * good), .width = k + 1 == trials.size() ? 2.4 : 0.8});
    for (const plot::Point& point : line) sheet.figure.disc(point, 1.5, plot::viridis(0.92 * good));
  }
  const double room = shown > 1 ? sheet.area.width / static_cast<double>(shown - 1) - 6 : sheet.area.width;
  for (size_t i = 0; i < shown; ++i) {
    const StudyParameter& parameter = record.parameters[order[i]];
    const plot::Axis axis = axis_of(parameter);
    sheet.figure.line({column(i), sheet.area.y}, {column(i), sheet.area.bottom()}, {.colour = plot::kSoftInk});
    const auto label = [&](double value, const std::string& text) {
      const double y = sheet.area.bottom() - sheet.area.height * axis.fraction(value);
      sheet.figure.line({column(i) - 3, y}, {column(i), y}, {.colour = plot::kSoftInk});
      const std::string shown_text = sheet.figure.elided(text, room, kSmall);  // on paper, or the lines cross it out
      sheet.figure.rectangle({column(i) + 4, y - 5.5, sheet.figure.text_width(shown_text, kSmall) + 2, 11},
                             plot::kPaper);
      sheet.figure.text({column(i) + 5, y}, shown_text, kSmall);
    };
    if (parameter.choices.empty())
      for (const plot::Tick& tick : plot::ticks(axis, 5)) label(tick.value, tick.label);
    for (size_t k = 0; k < parameter.choices.size(); ++k) label(static_cast<double>(k), parameter.choices[k]);
    const plot::TextStyle style{.size = 8.5, .align = plot::Align::kCentre};
    const std::string name = sheet.figure.elided(parameter.name, (shown > 5 ? 1.6 : 1) * (room + 6), style);
    const double half = 0.5 * sheet.figure.text_width(name, style) + 4;  // so far from the edges, or they cut it
    sheet.figure.text(
        {std::clamp(column(i), half, kWide - half), sheet.area.bottom() + (shown > 5 && i % 2 == 1 ? 28 : 15)}, name,
        style);
  }
  // The palette runs to where it is still seen on white.
  const auto palette = objective.maximize ? +[](double share) { return plot::viridis(0.92 * share); }
                                          : +[](double share) { return plot::viridis(0.92 * (1 - share)); };
  plot::draw_colour_bar(sheet.figure, {kWide - 62, sheet.area.y, 10, sheet.area.height}, values, palette);
  return {
      "parameters", "all parameters",
      fmt::format("A line a complete trial, through its values of the {} parameters that decide most, past those that "
                  "are inactive; brighter is better, the best one thick.",
                  shown),
      sheet.figure.picture()};
}

NamedPicture slice_picture(const StudyRecord& record, size_t parameter) {
  const StudyObjective& objective = record.objectives[0];
  const StudyParameter& one = record.parameters[parameter];
  Sheet sheet(kNarrow, 300, one.name);
  const plot::Axis x = axis_of(one), y = values_axis(values_of(record, 0), objective);
  plot::draw_y_axis(sheet.figure, sheet.area, y, plot::Grid::kHorizontal);
  draw_parameter_axis(sheet.figure, sheet.area, one);
  sheet.figure.clip(sheet.area);
  const auto count = static_cast<double>(std::max<size_t>(record.trials.size(), 2) - 1);
  for (size_t i = 0; i < record.trials.size(); ++i) {
    const StudyTrial& trial = record.trials[i];
    if (!trial.complete() || std::isnan(trial.at[parameter])) continue;
    const double age = static_cast<double>(i) / count;
    const Colour colour{0.78 - 0.62 * age, 0.82 - 0.47 * age, 0.88 - 0.25 * age};
    sheet.figure.disc(plot::place(sheet.area, x, y, {trial.at[parameter], trial.values[0]}), 2.6, colour);
  }
  for (const int64_t number : record.front) {
    const StudyTrial& trial = *record.find(number);
    if (std::isnan(trial.at[parameter])) continue;
    sheet.figure.disc(plot::place(sheet.area, x, y, {trial.at[parameter], trial.values[0]}), 3.4, kBestColour);
  }
  sheet.figure.unclip();
  return {fmt::format("slice-{}", parameter + 1), one.name,
          fmt::format("{} by {}; darker: later trials; in colour: {}.", objective.name, one.name,
                      record.front.size() == 1 ? "the best one" : "the front"),
          sheet.figure.picture()};
}

NamedPicture map_picture(const StudyRecord& record) {
  const StudyMap& map = *record.map;
  const StudyParameter &x = record.parameters[map.x], &y = record.parameters[map.y];
  Sheet sheet(kNarrow, kNarrowHeight, "the two that decide most", 76, 74);
  plot::Axis colour = values_axis(map.values, record.objectives[0]);
  // The map's cells are of the cube's edges: the range with the halves of its outer values' cells.
  const auto range = [](const StudyParameter& one) {
    plot::Axis axis = axis_of(one);
    if (one.choices.empty()) axis.low = one.low - one.edge, axis.high = one.high + one.edge;
    return axis;
  };
  const plot::Axis x_axis = range(x), y_axis = range(y);
  const auto cells = static_cast<int64_t>(map.cells);
  std::vector<Colour> colours(map.values.size());
  for (size_t row = 0; row < map.cells; ++row)
    for (size_t column = 0; column < map.cells; ++column)
      colours[(map.cells - 1 - row) * map.cells + column] =
          plot::viridis(goodness(colour, record.objectives[0], map.values[row * map.cells + column]));
  sheet.figure.cells(sheet.area, cells, cells, colours);
  if (x.choices.empty())
    plot::draw_x_axis(sheet.figure, sheet.area, x_axis);
  else
    draw_parameter_axis(sheet.figure, sheet.area, x);
  if (y.choices.empty()) {
    plot::draw_y_axis(sheet.figure, sheet.area, y_axis, plot::Grid::kNone);
  } else {
    for (size_t k = 0; k < y.choices.size(); ++k) {
      const double at = sheet.area.bottom() - sheet.area.height * y_axis.fraction(static_cast<double>(k));
      const plot::TextStyle style{.size = 8, .colour = plot::kSoftInk, .align = plot::Align::kRight};
      sheet.figure.text({sheet.area.x - 6, at}, sheet.figure.elided(y.choices[k], 44, style), style);
    }
    sheet.figure.text({12, sheet.area.y + sheet.area.height / 2}, y.name,
                      {.size = 9.5, .colour = plot::kSoftInk, .align = plot::Align::kCentre, .angle = -1.5707963});
  }
  sheet.figure.clip(sheet.area);
  for (const StudyTrial& trial : record.trials) {
    if (!trial.complete() || std::isnan(trial.at[map.x]) || std::isnan(trial.at[map.y])) continue;
    const bool best = std::find(record.front.begin(), record.front.end(), trial.number) != record.front.end();
    const plot::Point at = plot::place(sheet.area, x_axis, y_axis, {trial.at[map.x], trial.at[map.y]});
    sheet.figure.disc(at, best ? 3.6 : 1.9, plot::kPaper);
    sheet.figure.disc(at, best ? 2.8 : 1.2, best ? kBestColour : plot::kInk);
  }
  sheet.figure.unclip();
  const auto palette =
      record.objectives[0].maximize ? plot::viridis : +[](double share) { return plot::viridis(1 - share); };
  plot::draw_colour_bar(sheet.figure, {sheet.area.right() + 12, sheet.area.y, 10, sheet.area.height}, colour, palette);
  return {"map", "the two that decide most",
          fmt::format("{} by {} and {}, averaged over all other parameters, as a forest of trees sees it; brighter is "
                      "better. Points: the trials.",
                      record.objectives[0].name, x.name, y.name),
          sheet.figure.picture()};
}

NamedPicture curves_picture(const StudyRecord& record) {
  Sheet sheet(kWide, 330, "curves");
  double last = 1;
  std::vector<double> all;
  for (const StudyTrial& trial : record.trials)
    for (const auto& [step, value] : trial.curve) last = std::max(last, step), all.push_back(value);
  const plot::Axis x{.low = 0, .high = last * 1.02, .label = "step", .tick_values = plot::TickValues::kWhole};
  const plot::Axis y = values_axis(all, record.objectives[0]);
  plot::draw_frame(sheet.figure, sheet.area, x, y, plot::Grid::kHorizontal);
  sheet.figure.clip(sheet.area);
  const auto draw_one = [&](const StudyTrial& trial, const plot::Stroke& stroke) {
    std::vector<plot::Point> points;
    for (const auto& [step, value] : trial.curve)
      if (std::isfinite(value)) points.push_back(plot::place(sheet.area, x, y, {step, value}));
    sheet.figure.polyline(points, stroke);
    if (trial.state == "pruned" && !points.empty()) sheet.figure.disc(points.back(), 2.2, stroke.colour);
  };
  for (const StudyTrial& trial : record.trials)
    draw_one(trial, {.colour = trial.state == "pruned" ? Colour{0.80, 0.71, 0.50} : kTrialColour, .width = 0.9});
  for (const int64_t number : record.front) draw_one(*record.find(number), {.colour = kBestColour, .width = 2});
  sheet.figure.unclip();
  return {"curves", "curves",
          fmt::format("What was reported of {} while trials ran; a dot: it was pruned there; in colour: {}.",
                      record.objectives[0].name, record.front.size() == 1 ? "the best one" : "the front"),
          sheet.figure.picture()};
}

NamedPicture time_picture(const StudyRecord& record) {
  Sheet sheet(kWide, 250, "time of the trials");
  std::vector<double> seconds;
  for (const StudyTrial& trial : record.trials) seconds.push_back(trial.seconds.value_or(NAN));
  const plot::Axis x{.low = 0,
                     .high = static_cast<double>(record.trials.size()) + 1,
                     .label = "trial",
                     .tick_values = plot::TickValues::kWhole};
  const plot::Axis y = plot::axis_around(seconds, plot::Scale::kLinear, "s");
  plot::draw_frame(sheet.figure, sheet.area, x, y, plot::Grid::kHorizontal);
  const double width = std::max(0.6, sheet.area.width / (x.high - x.low) * 0.7);
  for (size_t i = 0; i < seconds.size(); ++i) {
    if (!std::isfinite(seconds[i])) continue;
    const plot::Point top = plot::place(sheet.area, x, y, {static_cast<double>(i + 1), seconds[i]});
    sheet.figure.rectangle({top.x - width / 2, top.y, width, sheet.area.bottom() - top.y},
                           record.trials[i].complete() ? kBarColour : Colour{0.80, 0.71, 0.50});
  }
  return {"time", "time of the trials", "From when a trial was asked for to its end; light: it was pruned, or failed.",
          sheet.figure.picture()};
}

}  // namespace

std::vector<NamedPicture> draw(const StudyRecord& record) {
  std::vector<NamedPicture> pictures;
  const auto any = [&](const auto& holds) { return std::any_of(record.trials.begin(), record.trials.end(), holds); };
  const bool complete = any([](const StudyTrial& trial) { return trial.complete(); });
  if (complete) pictures.push_back(history_picture(record));
  if (complete && record.objectives.size() > 1) pictures.push_back(front_picture(record));
  for (size_t i = 0; i < record.objectives.size(); ++i)
    if (std::any_of(record.importance[i].begin(), record.importance[i].end(), [](double share) { return share > 0; }))
      pictures.push_back(importance_picture(record, i));
  if (record.map) pictures.push_back(map_picture(record));
  if (complete) pictures.push_back(parallel_picture(record));
  const std::vector<size_t> order = record.by_importance();
  for (size_t i = 0; i < std::min(order.size(), kSlicesMax); ++i) {
    const auto active = std::count_if(record.trials.begin(), record.trials.end(), [&](const StudyTrial& trial) {
      return trial.complete() && !std::isnan(trial.at[order[i]]);
    });
    if (active >= kSliceTrialsMin) pictures.push_back(slice_picture(record, order[i]));
  }
  if (any([](const StudyTrial& trial) { return trial.curve.size() > 1; })) pictures.push_back(curves_picture(record));
  if (any([](const StudyTrial& trial) { return trial.seconds.has_value(); })) pictures.push_back(time_picture(record));
  return pictures;
}

}  // namespace linac::report
