#include "linac/physics/report/calibration/report.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/base/median.h"
#include "linac/base/base/text_table.h"
#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/categories.h"
#include "linac/physics/report/page/frame.h"
#include "linac/physics/report/page/html.h"
#include "linac/physics/report/page/numbers.h"

namespace linac::report {
namespace {

using Json = nlohmann::ordered_json;

// Experience follows from the first three.
constexpr const char* kWhats[] = {"start", "a step", "the run", "jitter", "energy", "carbon dioxide"};
constexpr const char* kTitle = "Planned and actual";

// `part`: what the next plans take from it; null where they take nothing.
std::string sum_text(const CalibrationReport& report, const char* what, const plan::Experience::Part* part) {
  const CalibrationSum sum = sum_of(report, what);
  if (sum.count == 0) return fmt::format("{}: no run tells it", what);
  const std::string text = fmt::format("{}: {} of {} inside, off by {:.1f} % in the middle", what, sum.inside,
                                       sum.count, 100 * sum.median_off);
  if (part == nullptr) return text;
  return text +
         fmt::format("; from now on {:.3f} of the plan, interval {:.2f} times as wide", part->bias, part->widened);
}

std::vector<std::string> sum_lines(const CalibrationReport& report) {
  const plan::Experience::Part* const parts[] = {&report.experience.start, &report.experience.step,
                                                 &report.experience.whole};
  std::vector<std::string> lines;
  for (size_t i = 0; i < std::size(kWhats); ++i) {
    const plan::Experience::Part* part = i < std::size(parts) ? parts[i] : nullptr;
    if (part != nullptr || sum_of(report, kWhats[i]).count > 0) lines.push_back(sum_text(report, kWhats[i], part));
  }
  return lines;
}

}  // namespace

CalibrationSum sum_of(const CalibrationReport& report, const std::string& what) {
  CalibrationSum sum;
  std::vector<double> off;
  for (const CalibratedRun& run : report.runs) {
    for (const PlannedBeside& figure : run.figures) {
      if (figure.what != what || figure.planned.middle <= 0) continue;
      ++sum.count;
      sum.inside += figure.inside() ? 1 : 0;
      off.push_back(std::abs(figure.actual / figure.planned.middle - 1));
    }
  }
  sum.median_off = median(std::move(off));
  return sum;
}

std::vector<NamedPicture> draw(const CalibrationReport& report) {
  std::vector<double> ratios{0.5, 2};
  size_t count = 0;
  for (const CalibratedRun& run : report.runs) {
    for (const PlannedBeside& figure : run.figures) {
      if (figure.planned.middle <= 0 || figure.actual <= 0) continue;
      ratios.insert(ratios.end(), {figure.actual / figure.planned.middle, figure.planned.low / figure.planned.middle,
                                   figure.planned.high / figure.planned.middle});
      ++count;
    }
  }
  if (count == 0) return {};
  plot::Figure sheet(kWide, 340);
  sheet.text({18, 18}, "actual over planned", {.size = 12, .weight = plot::Weight::kBold});
  const plot::Rect area{62, 42, kWide - 62 - 22, 340 - 42 - 44};
  const plot::Axis x{.low = 0,
                     .high = static_cast<double>(report.runs.size()) + 1,
                     .label = "run",
                     .tick_values = plot::TickValues::kWhole},
      y = plot::axis_around(ratios, plot::Scale::kLog, "actual / planned");
  plot::draw_frame(sheet, area, x, y, plot::Grid::kHorizontal);
  sheet.clip(area);
  sheet.line(plot::place(area, x, y, {x.low, 1}), plot::place(area, x, y, {x.high, 1}), {.colour = plot::kSoftInk});
  for (size_t i = 0; i < report.runs.size(); ++i) {
    for (const PlannedBeside& figure : report.runs[i].figures) {
      if (figure.planned.middle <= 0 || figure.actual <= 0) continue;
      const auto kind =
          static_cast<size_t>(std::find(std::begin(kWhats), std::end(kWhats), figure.what) - std::begin(kWhats));
      const double at = static_cast<double>(i + 1) + 0.1 * (static_cast<double>(kind) - 2.5);
      const plot::Colour colour = plot::category_colour(kind);
      const auto point = [&](double value) { return plot::place(area, x, y, {at, value / figure.planned.middle}); };
      sheet.line(point(figure.planned.low), point(figure.planned.high), {.colour = colour, .width = 1});
      sheet.disc(point(figure.actual), 2.8, colour);
    }
  }
  sheet.unclip();
  std::vector<plot::KeyEntry> key;
  for (size_t kind = 0; kind < std::size(kWhats); ++kind)
    if (sum_of(report, kWhats[kind]).count > 0)
      key.push_back({kWhats[kind], {.colour = plot::category_colour(kind), .width = 2}});
  plot::draw_key(sheet, area, plot::Corner::kTopRight, key);
  std::vector<NamedPicture> pictures;
  pictures.push_back({"calibration", "Actual over planned",
                      "Lines: the intervals, between which four of five should be.", sheet.picture()});
  return pictures;
}

std::string to_html(const CalibrationReport& report, const std::vector<NamedPicture>& pictures) {
  std::string rows, words;
  for (const CalibratedRun& run : report.runs) {
    for (const PlannedBeside& figure : run.figures) {
      rows += element(
          "tr", "",
          row_head(run.name, run.on) + table_cell("of", escape(figure.what)) +
              table_cell("planned", escape(planned_text(figure)), "class=\"n\"") +
              table_cell("actual", escape(fmt::format("{:.3g} {}", figure.actual, figure.unit)), "class=\"n\"") +
              table_cell("inside", figure.inside() ? "yes" : "<span class=\"bad\">no</span>"));
    }
  }
  for (const std::string& line : sum_lines(report)) words += element("p", "", escape(line));
  return whole_page(
      kTitle, element("section", "class=\"verdict neutral\"", words) + pictures_part("of the plans", pictures) +
                  element("table", "class=\"figures\"",
                          table_heads({"run", "of", "planned", "actual", "inside"}) + element("tbody", "", rows)) +
                  facts_part(report.facts));
}

Json to_json(const CalibrationReport& report) {
  Json runs = Json::array(), sums = Json::object(), facts = Json::object();
  for (const CalibratedRun& run : report.runs) {
    Json figures = Json::array();
    for (const PlannedBeside& figure : run.figures) {
      figures.push_back(to_json(figure));
    }
    runs.push_back({{"name", run.name}, {"on", run.on}, {"status", run.status}, {"figures", std::move(figures)}});
  }
  for (const char* what : kWhats) {
    const CalibrationSum sum = sum_of(report, what);
    sums[what] = {{"count", sum.count}, {"inside", sum.inside}, {"median_off", sum.median_off}};
  }
  for (const auto& [name, value] : report.facts) facts[name] = value;
  return {{"runs", std::move(runs)}, {"sums", std::move(sums)}, {"facts", std::move(facts)}};
}

std::string to_text(const CalibrationReport& report) {
  TextRows rows{{"run", "on", "of", "planned", "actual", ""}};
  for (const CalibratedRun& run : report.runs) {
    for (const PlannedBeside& figure : run.figures)
      rows.push_back({run.name, run.on, figure.what, planned_text(figure),
                      fmt::format("{:.3g} {}", figure.actual, figure.unit), figure.inside() ? "" : "outside"});
  }
  std::string text = lined_up(rows, 2) + "\n";
  for (const std::string& line : sum_lines(report)) text += "  " + line + "\n";
  return text;
}

}  // namespace linac::report
