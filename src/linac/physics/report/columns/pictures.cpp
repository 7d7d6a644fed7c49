#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/base/columns/histogram.h"
#include "linac/physics/plot/binned.h"
#include "linac/physics/plot/categories.h"
#include "linac/physics/report/columns/words.h"

namespace linac::report {
namespace {

constexpr double kMargin = 18, kLeft = 44, kGap = 10, kTop = 42, kPanelHeight = 190, kBelow = 24;
constexpr size_t kColumns = 3, kPanels = 12, kPicturesMax = 20;
constexpr double kPeak = 20;  // a highest bin of so many times the middle one asks for a logarithmic axis

struct Panel {
  std::string name;
  columns::Histogram histogram;
};

std::vector<Panel> panels_of(const ColumnsReport& report) {
  std::vector<Panel> panels;
  for (size_t i = 0; i < report.stats.train.columns.size(); ++i) {
    std::vector<const columns::ColumnStats*> sides{&report.stats.train.columns[i]};
    if (const auto* const test = test_column(report, i)) sides.push_back(test);
    columns::Histogram histogram = columns::histogram_of(sides);
    if (!histogram.edges.empty()) panels.push_back({sides[0]->name, std::move(histogram)});
  }
  return panels;
}

plot::Axis share_axis(const columns::Histogram& histogram) {
  std::vector<double> shares;
  for (const auto& side : histogram.shares)
    std::ranges::copy_if(side, std::back_inserter(shares), [](double share) { return share > 0; });
  std::ranges::sort(shares);
  const bool peaks = shares.size() > 2 && shares.back() > kPeak * shares[shares.size() / 2];
  return plot::axis_around(shares, peaks ? plot::Scale::kLog : plot::Scale::kLinear, "share of the values");
}

void draw_panel(plot::Figure& figure, const plot::Rect& area, const Panel& panel, bool with_label) {
  const std::vector<double>& edges = panel.histogram.edges;
  const plot::Axis x{.low = edges.front(), .high = edges.back(), .label = figure.elided(panel.name, area.width)};
  plot::Axis y = share_axis(panel.histogram);
  if (!with_label) y.label.clear();
  const plot::BinnedArea where{area, x, y, edges};
  plot::draw_frame(figure, area, x, y, plot::Grid::kHorizontal);
  plot::draw_filled(figure, where, panel.histogram.shares[0], plot::category_colour(0));
  plot::draw_steps(figure, where, panel.histogram.shares[0], {.colour = plot::category_colour(0), .width = 1.2});
  if (panel.histogram.shares.size() > 1)
    plot::draw_steps(figure, where, panel.histogram.shares[1], {.colour = plot::category_colour(1), .width = 1.4});
}

NamedPicture picture_of(const ColumnsReport& report, std::span<const Panel> panels, size_t number) {
  const size_t rows = (panels.size() + kColumns - 1) / kColumns;
  plot::Figure figure(kWide, kTop + static_cast<double>(rows) * kPanelHeight + kBelow);
  figure.text({kMargin, 20}, "values", {.size = 12, .weight = plot::Weight::kBold});
  const double width = (kWide - 2 * kMargin) / static_cast<double>(kColumns);
  for (size_t i = 0; i < panels.size(); ++i) {
    const double left = kMargin + static_cast<double>(i % kColumns) * width + kLeft;
    const double top = kTop + static_cast<double>(i / kColumns) * kPanelHeight;
    draw_panel(figure, {left, top, width - kLeft - kGap, kPanelHeight - 46}, panels[i], i % kColumns == 0);
  }
  std::string note = "shares of the values of a column, by bins";
  if (report.has_test()) note += " · filled: training, line: test";
  figure.text({kMargin, kTop + static_cast<double>(rows) * kPanelHeight + kBelow / 2 - 4}, note,
              {.size = 8, .colour = plot::kSoftInk});
  const std::string title =
      panels.size() == 1 ? panels.front().name : fmt::format("{} to {}", panels.front().name, panels.back().name);
  return {fmt::format("values-{}", number), title, "How the values of each column are distributed.", figure.picture()};
}

}  // namespace

std::vector<NamedPicture> draw(const ColumnsReport& report) {
  const std::vector<Panel> panels = panels_of(report);
  std::vector<NamedPicture> pictures;
  for (size_t begin = 0; begin < panels.size() && pictures.size() < kPicturesMax; begin += kPanels)
    pictures.push_back(picture_of(report, std::span(panels).subspan(begin, std::min(kPanels, panels.size() - begin)),
                                  pictures.size() + 1));
  return pictures;
}

}  // namespace linac::report
