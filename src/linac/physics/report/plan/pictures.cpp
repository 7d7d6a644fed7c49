#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>

#include "linac/base/base/plural.h"
#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/categories.h"
#include "linac/physics/report/plan/names.h"
#include "linac/physics/report/plan/parts.h"
#include "linac/physics/report/plan/report.h"

namespace linac::report {
namespace {

constexpr size_t kBarsMax = 16;
constexpr plot::TextStyle kTitle{.size = 12, .weight = plot::Weight::kBold};
constexpr plot::TextStyle kSmall{.size = 8.5};
constexpr plot::Colour kGood{0.12, 0.47, 0.71}, kBad{0.72, 0.74, 0.78}, kFront{0.85, 0.33, 0.10};

struct TimeUnit {
  double seconds;
  const char* name;
};

TimeUnit unit_of(double seconds) {
  if (seconds >= 2 * 86400) return {86400, "days"};
  if (seconds >= 2 * 3600) return {3600, "hours"};
  if (seconds >= 120) return {60, "minutes"};
  return {1, "seconds"};
}

// A bar a row, of its parts, with the interval of the whole.
NamedPicture bars_picture(const PlanReport& report) {
  const size_t count = std::min(kBarsMax, report.rows.size());
  constexpr double kBar = 20, kMargin = 18, kNamesMin = 250, kNamesMax = 420;
  const double height = 96 + kBar * static_cast<double>(count);
  plot::Figure figure(kWide, height);
  figure.text({kMargin, 18}, "where the time goes", kTitle);
  const auto style_of = [](const PlanRow& row) {
    return plot::TextStyle{
        .size = 9, .colour = row.forecast.good ? plot::kInk : plot::kSoftInk, .align = plot::Align::kRight};
  };
  const auto shown = std::span(report.rows).first(count);
  double names = kNamesMin;
  for (const PlanRow& row : shown)
    names = std::clamp(figure.text_width(row.name, style_of(row)) + kMargin + 10, names, kNamesMax);
  const plot::Rect area{names, 52, kWide - names - 24, kBar * static_cast<double>(count)};
  std::vector<double> ends{0};
  for (size_t i = 0; i < count; ++i) ends.push_back(report.rows[i].forecast.seconds.interval().high);
  const TimeUnit unit = unit_of(*std::max_element(ends.begin(), ends.end()));
  for (double& end : ends) end /= unit.seconds;
  const plot::Axis x = plot::axis_around(ends, plot::Scale::kLinear, unit.name), y{.low = 0, .high = 1};
  plot::draw_x_axis(figure, area, x);
  double key = kMargin;
  for (size_t i = 0; i < parts_of(shown.front().forecast).size(); ++i) {
    const PlanPart part = parts_of(shown.front().forecast)[i];
    if (std::ranges::none_of(shown, [&](const PlanRow& row) { return parts_of(row.forecast)[i].seconds.middle > 0; }))
      continue;
    figure.rectangle({key, 32, 9, 9}, part.colour);
    figure.text({key + 13, 37}, part.name, kSmall);
    key += 24 + figure.text_width(part.name, kSmall);
  }
  for (size_t i = 0; i < count; ++i) {
    const PlanRow& row = report.rows[i];
    const double top = area.y + kBar * static_cast<double>(i) + 3, middle = top + kBar / 2 - 3;
    figure.text({names - 8, middle}, figure.elided(row.name, names - kMargin - 2, style_of(row)), style_of(row));
    double begin_s = 0;
    for (const PlanPart& part : parts_of(row.forecast)) {
      const double from = plot::place(area, x, y, {begin_s / unit.seconds, 0}).x;
      begin_s += part.seconds.middle;
      const double to = plot::place(area, x, y, {begin_s / unit.seconds, 0}).x;
      if (to > from) figure.rectangle({from, top, to - from, kBar - 6}, part.colour);
    }
    const plan::Interval all = row.forecast.seconds.interval();
    const double low = plot::place(area, x, y, {all.low / unit.seconds, 0}).x,
                 high = plot::place(area, x, y, {all.high / unit.seconds, 0}).x;
    figure.line({low, middle}, {high, middle}, {.colour = plot::kInk, .width = 1.2});
    for (const double end : {low, high})
      figure.line({end, middle - 4}, {end, middle + 4}, {.colour = plot::kInk, .width = 1.2});
  }
  std::string caption = "Lines: four of five should end between their ends.";
  if (count < report.rows.size()) caption += fmt::format(" The first {} of {}.", count, report.rows.size());
  return {"parts", "Where the time goes", caption, figure.picture()};
}

void draw_names(plot::Figure& figure, const plot::Rect& area, std::vector<NamedPoint> points,
                const std::vector<Segment>& lines) {
  for (NamedPoint& point : points) point.width = figure.text_width(point.name, kSmall);
  const auto places = places_of_names(area, points, lines);
  for (size_t i = 0; i < points.size(); ++i) {
    if (!places[i]) continue;
    const auto& [left, top, width, height] = *places[i];
    constexpr double kRim = 2;
    const std::array<plot::Point, 4> ground{{{left - kRim, top},
                                             {left + width + kRim, top},
                                             {left + width + kRim, top + height},
                                             {left - kRim, top + height}}};
    figure.polygon(ground, plot::kPaper, 0.75);
    figure.text({left, top + height / 2}, points[i].name,
                {.size = kSmall.size, .colour = points[i].good ? plot::kInk : plot::kSoftInk});
  }
}

// Deadline and budget, each with its name at the end of its line.
std::vector<Segment> draw_rules(plot::Figure& figure, const plot::Rect& area, std::optional<double> deadline_x,
                                const std::string& deadline, std::optional<double> budget_y,
                                const std::string& budget) {
  const plot::Stroke stroke{.colour = kFront, .width = 1, .dash = 5};
  plot::TextStyle style{.size = kSmall.size, .colour = kFront};
  std::vector<Segment> rules;
  if (deadline_x && *deadline_x > area.x && *deadline_x < area.right()) {
    rules.push_back({{*deadline_x, area.y}, {*deadline_x, area.bottom()}});
    const bool left = *deadline_x > area.x + area.width / 2;
    style.align = left ? plot::Align::kRight : plot::Align::kLeft;
    figure.text({*deadline_x + (left ? -5 : 5), area.bottom() - 8}, deadline, style);
  }
  style.align = plot::Align::kLeft;
  if (budget_y && *budget_y > area.y && *budget_y < area.bottom()) {
    rules.push_back({{area.x, *budget_y}, {area.right(), *budget_y}});
    figure.text({area.x + 5, *budget_y + (*budget_y < area.y + 16 ? 8 : -8)}, budget, style);
  }
  for (const Segment& rule : rules) figure.line(rule.from, rule.to, stroke);
  return rules;
}

// Time against what it costs.
std::optional<NamedPicture> worth_picture(const PlanReport& report) {
  const bool priced = std::any_of(report.rows.begin(), report.rows.end(),
                                  [](const PlanRow& row) { return row.forecast.money.has_value(); });
  const auto worth = [&](const PlanRow& row) {
    return !priced              ? row.forecast.kwh
           : row.forecast.money ? *row.forecast.money * (1 / report.currency.usd)
                                : row.forecast.money;
  };
  std::vector<double> times, values;
  double longest = 0;
  for (const PlanRow& row : report.rows) {
    if (worth(row)) longest = std::max(longest, row.forecast.seconds.middle);
  }
  const TimeUnit unit = unit_of(longest);
  for (const PlanRow& row : report.rows) {
    if (const auto value = worth(row)) {
      const plan::Interval time = row.forecast.seconds.interval(), spent = value->interval();
      times.insert(times.end(), {time.low / unit.seconds, time.high / unit.seconds});
      values.insert(values.end(), {spent.low, spent.high});
    }
  }
  if (times.empty()) return std::nullopt;
  plot::Figure figure(kWide, 380);
  figure.text({18, 18}, priced ? "time and money" : "time and energy", kTitle);
  const plot::Rect area{64, 42, kWide - 64 - 24, 380 - 42 - 44};
  plot::Axis x = plot::axis_around(times, plot::Scale::kLog, unit.name),
             y = plot::axis_around(
                 values, plot::Scale::kLog,
                 priced ? (report.currency.currency == "USD" ? "US dollars" : report.currency.currency) : "kWh");
  x.tick_values = y.tick_values = plot::TickValues::kPlain;
  plot::draw_frame(figure, area, x, y, plot::Grid::kHorizontal);
  const auto place = [&](double seconds, double spent) {
    return plot::place(area, x, y, {seconds / unit.seconds, spent});
  };
  figure.clip(area);
  std::optional<double> deadline_x, budget_y;
  if (report.wishes.deadline_s > 0) deadline_x = place(report.wishes.deadline_s, y.low).x;
  if (priced && report.wishes.budget > 0)
    budget_y = place(x.low * unit.seconds, report.wishes.budget / report.currency.usd).y;
  std::vector<Segment> lines = draw_rules(
      figure, area, deadline_x, fmt::format("deadline {:.3g} {}", report.wishes.deadline_s / unit.seconds, unit.name),
      budget_y, fmt::format("budget {:.3g} {}", report.wishes.budget / report.currency.usd, report.currency.currency));
  std::vector<NamedPoint> points;
  for (const PlanRow& row : report.rows) {
    const auto value = worth(row);
    if (!value) continue;
    const plan::Interval time = row.forecast.seconds.interval(), spent = value->interval();
    points.push_back({place(time.middle, spent.middle), row.name, 0, row.front, row.forecast.good});
    if (report.rows.size() > kNamesMax) continue;
    const plot::Stroke stroke{.colour = row.forecast.good ? kGood : kBad, .width = 0.8};
    figure.line(place(time.low, spent.middle), place(time.high, spent.middle), stroke);
    figure.line(place(time.middle, spent.low), place(time.middle, spent.high), stroke);
  }
  std::vector<plot::Point> front;
  for (const NamedPoint& point : points)
    if (point.front) front.push_back(point.at);
  std::sort(front.begin(), front.end(), [](const plot::Point& a, const plot::Point& b) { return a.x < b.x; });
  figure.polyline(front, {.colour = kFront, .width = 1.4});
  for (size_t i = 1; i < front.size(); ++i) lines.push_back({front[i - 1], front[i]});
  for (const NamedPoint& point : points) figure.disc(point.at, point.front ? 4 : 2.6, point.good ? kGood : kBad);
  draw_names(figure, area, std::move(points), lines);
  figure.unclip();
  return NamedPicture{"worth", priced ? "Time and money" : "Time and energy",
                      "Large: nothing is both sooner and cheaper. Grey: does not fit, or misses deadline or budget too "
                      "often. Broken lines: the deadline, the budget.",
                      figure.picture()};
}

}  // namespace

std::vector<NamedPicture> draw(const PlanReport& report) {
  if (report.rows.empty()) return {};
  std::vector<NamedPicture> pictures;
  pictures.push_back(bars_picture(report));
  if (auto worth = worth_picture(report)) pictures.push_back(std::move(*worth));
  return pictures;
}

}  // namespace linac::report
