#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "linac/base/base/binomial.h"
#include "linac/physics/plot/binned.h"
#include "linac/physics/plot/line_chart.h"
#include "linac/physics/plot/ratio_chart.h"
#include "linac/physics/report/scores/pictures.h"
#include "linac/physics/report/scores/words.h"

namespace linac::report {
namespace {

constexpr double kMargin = 18, kLeft = 48, kGap = 10, kTop = 40, kPanelHeight = 250, kTitles = 34;
constexpr size_t kColumnsMax = 3, kPanelsMax = 12;

std::vector<double> edges_of(const scores::Residuals& residuals) {
  std::vector<double> edges = plot::whole_edges(residuals.counts.size());
  for (double& edge : edges)
    edge = residuals.low + (residuals.high - residuals.low) * edge / static_cast<double>(residuals.counts.size());
  return edges;
}

void draw_panel(plot::Figure& figure, const plot::Rect& area, const ScoreReport& report, size_t output) {
  const auto& models = std::get<scores::RegressionJudgement>(report.judgement).models;
  const std::vector<double> edges = edges_of(models[0].residuals[output]);
  std::vector<plot::Binned> shares;
  double highest = 0;
  for (const scores::Regression& model : models) {
    const scores::Residuals& residuals = model.residuals[output];
    const double inside = std::accumulate(residuals.counts.begin(), residuals.counts.end(), 0.0);
    plot::Binned& binned = shares.emplace_back();
    for (const double count : residuals.counts) {
      const double share = count / (inside + residuals.below + residuals.above);
      const Range interval = share_interval(share, static_cast<double>(report.events));
      binned.values.push_back(share);
      binned.errors.push_back(interval.high - share);
      binned.below.push_back(share - interval.low);
      highest = std::max(highest, interval.high);
    }
  }
  const plot::BinnedArea where{area,
                               {.low = edges.front(), .high = edges.back(), .label = "prediction − truth"},
                               {.low = 0, .high = highest > 0 ? 1.1 * highest : 1, .label = "share of the events"},
                               edges};
  const int part = static_cast<int>(output);
  const plot::TextStyle bold{.size = 9.5, .weight = plot::Weight::kBold};
  figure.text({area.x, area.y - 24}, figure.elided(report.parts[output], area.width, bold), bold);
  figure.text({area.x, area.y - 11},
              fmt::format("bias {} · resolution {}", score_text(scores::find(report.scores_of(0), "bias", part)),
                          score_text(scores::find(report.scores_of(0), "resolution", part))),
              {.size = 7.5, .colour = plot::kSoftInk});
  plot::draw_frame(figure, area, where.x, where.y, plot::Grid::kHorizontal);
  if (edges.front() < 0 && edges.back() > 0) {
    const double zero = plot::place(area, where.x, where.y, {0, 0}).x;
    figure.line({zero, area.y}, {zero, area.bottom()}, {.colour = plot::kSoftInk, .width = 0.8, .dash = 3});
  }
  plot::draw_filled(figure, where, shares[0].values, plot::kSampleColour);
  for (size_t model = 0; model < shares.size(); ++model)
    plot::draw_band(figure, where, shares[model], model == 0 ? plot::kSampleColour : plot::kReferenceColour);
  plot::draw_steps(figure, where, shares[0].values, {.colour = plot::kSampleColour, .width = 1.4});
  if (report.compares())
    plot::draw_steps(figure, where, shares[1].values, {.colour = plot::kReferenceColour, .width = 1.4});
}

}  // namespace

NamedPicture residual_picture(const ScoreReport& report) {
  const size_t panels = std::min(report.parts.size(), kPanelsMax), columns = std::min(panels, kColumnsMax);
  const size_t rows = (panels + columns - 1) / columns;
  plot::Figure figure(kWide, kTop + static_cast<double>(rows) * kPanelHeight);
  figure.text({kMargin, 20}, "residuals", {.size = 12, .weight = plot::Weight::kBold});
  if (report.compares()) {
    plot::draw_legend(figure, {kWide - kMargin, 20},
                      {{.label = report.models[0],
                        .colour = plot::kSampleColour,
                        .style = plot::SeriesStyle::kFilledSteps,
                        .points = {}},
                       {.label = report.models[1],
                        .colour = plot::kReferenceColour,
                        .style = plot::SeriesStyle::kSteps,
                        .points = {}}});
  }
  const double width = (kWide - 2 * kMargin) / static_cast<double>(columns);
  for (size_t i = 0; i < panels; ++i) {
    const double left = kMargin + static_cast<double>(i % columns) * width + kLeft;
    const double top = kTop + static_cast<double>(i / columns) * kPanelHeight + kTitles;
    draw_panel(figure, {left, top, width - kLeft - kGap, kPanelHeight - kTitles - 44}, report, i);
  }
  return {"residuals", "residuals",
          "Prediction minus truth; the axis holds the central 99 % of the events. Bands: one standard deviation.",
          figure.picture()};
}

}  // namespace linac::report
