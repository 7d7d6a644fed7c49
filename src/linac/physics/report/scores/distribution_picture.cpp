#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "linac/base/base/binomial.h"
#include "linac/physics/plot/binned.h"
#include "linac/physics/plot/categories.h"
#include "linac/physics/report/scores/pictures.h"

namespace linac::report {
namespace {

constexpr double kMargin = 18, kLeft = 44, kGap = 10, kTop = 50, kPanelHeight = 230, kBelow = 22;
constexpr size_t kColumnsMax = 3, kPanelsMax = 12;
constexpr double kLegendBetween = 16, kLegendLine = 16;

// Shares of a true class's events, which add up to 1.
plot::Binned shares(std::vector<double> counts, double effective) {
  const double events = std::accumulate(counts.begin(), counts.end(), 0.0);
  plot::Binned binned;
  for (const double count : counts) {
    const double share = count / events;
    const Range interval = share_interval(share, effective);
    binned.values.push_back(share);
    // Of an empty bin nothing, which a logarithmic axis shows as a wall.
    binned.errors.push_back(share > 0 ? interval.high - share : std::numeric_limits<double>::quiet_NaN());
    binned.below.push_back(share - interval.low);
  }
  return binned;
}

plot::Axis share_axis(const ScoreReport& report) {
  int64_t most = 1;
  for (const int64_t events : report.support) most = std::max(most, events);
  const double decades = std::clamp(std::ceil(std::log10(static_cast<double>(most))), 1.0, 5.0);
  return {.low = 0.7 * std::pow(10, -decades), .high = 1.3, .scale = plot::Scale::kLog, .label = "share of the events"};
}

void draw_panel(plot::Figure& figure, const plot::Rect& area, const ScoreReport& report, size_t label) {
  std::vector<double> edges = plot::whole_edges(scores::kScoreBins);
  for (double& edge : edges) edge /= static_cast<double>(scores::kScoreBins);
  const plot::Axis x{.low = 0, .high = 1, .label = fmt::format("probability of {}", report.parts[label])};
  const plot::BinnedArea where{area, x, share_axis(report), edges};
  plot::draw_frame(figure, area, where.x, where.y, plot::Grid::kHorizontal);
  const bool labels = report.task == scores::Task::kLabels;
  for (size_t model = report.models.size(); model-- > 0;) {
    const scores::Classification& found = classifier(report).models[model];
    const auto& of_class = found.classes[label].distributions;
    for (size_t truth = 0; truth < of_class.size(); ++truth) {
      const double effective = found.classes[label].effective[truth];
      if (effective == 0) continue;
      const bool is_own = labels ? truth == 1 : truth == label;
      const plot::Colour colour = labels && !is_own ? plot::kSoftInk : plot::category_colour(is_own ? label : truth);
      const plot::Binned binned = shares(of_class[truth], effective);
      if (model == 0 && is_own) plot::draw_filled(figure, where, binned.values, colour);
      if (model == 0) plot::draw_band(figure, where, binned, colour);
      plot::draw_steps(figure, where, binned.values,
                       {.colour = colour, .width = model == 0 ? 1.4 : 1.2, .dash = model == 0 ? 0.0 : 3.0});
    }
  }
}

// True classes in one line, ending at the right margin.
void draw_legend(plot::Figure& figure, const ScoreReport& report) {
  const plot::TextStyle style{.size = 8.5};
  double x = kWide - kMargin;
  for (size_t truth = report.parts.size(); truth-- > 0;) {
    if (report.support[truth] == 0 || report.task == scores::Task::kLabels) continue;
    x -= figure.text_width(report.parts[truth], style);
    if (x < kWide / 3) break;
    figure.text({x, 20}, report.parts[truth], style);
    figure.line({x - 6 - kLegendLine, 20}, {x - 6, 20}, {.colour = plot::category_colour(truth), .width = 1.8});
    x -= 6 + kLegendLine + kLegendBetween;
  }
}

}  // namespace

NamedPicture score_distribution_picture(const ScoreReport& report) {
  std::vector<size_t> panels = report.shown_classes();
  if (panels.size() > kPanelsMax) panels.resize(kPanelsMax);
  const size_t columns = std::clamp<size_t>(panels.size(), 1, kColumnsMax);
  const size_t rows = (panels.size() + columns - 1) / columns;
  plot::Figure figure(kWide, kTop + static_cast<double>(rows) * kPanelHeight + kBelow);
  const bool labels = report.task == scores::Task::kLabels;
  figure.text({kMargin, 20},
              labels ? "probabilities of events with and without each label" : "probabilities by true class",
              {.size = 12, .weight = plot::Weight::kBold});
  draw_legend(figure, report);
  const double width = (kWide - 2 * kMargin) / static_cast<double>(columns);
  for (size_t i = 0; i < panels.size(); ++i) {
    const double left = kMargin + static_cast<double>(i % columns) * width + kLeft;
    const double top = kTop + static_cast<double>(i / columns) * kPanelHeight;
    draw_panel(figure, {left, top, width - kLeft - kGap, kPanelHeight - 48}, report, panels[i]);
  }
  std::string note = fmt::format("shares of the events {}, which add up to 1 · bands: one standard deviation",
                                 labels ? "with the label (filled) and without it (grey)" : "of a true class");
  if (report.compares()) note += fmt::format(" · whole lines: {}, dashed: {}", report.models[0], report.models[1]);
  if (panels.size() < report.shown_classes().size())
    note += fmt::format(" · the first {} {}", panels.size(), labels ? "labels" : "classes");
  figure.text({kMargin, kTop + static_cast<double>(rows) * kPanelHeight + kBelow / 2 - 4}, note,
              {.size = 8, .colour = plot::kSoftInk});
  return {
      "scores", "probabilities",
      labels ? "The probability of each label for events with it (filled) and without it (grey), on a logarithmic axis."
             : "The probability of each class for events of every true class, on a logarithmic axis; filled: the "
               "class itself.",
      figure.picture()};
}

}  // namespace linac::report
