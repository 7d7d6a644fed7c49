#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "linac/plot/categories.h"
#include "linac/plot/line_chart.h"
#include "linac/report/scores/pictures.h"
#include "linac/report/scores/words.h"

namespace linac::report {
namespace {

constexpr double kNote = 18, kMargin = 6;
constexpr plot::Stroke kNoLine{.width = 0};

using MakePoint = plot::Point (*)(const scores::RocPoint&);

plot::Point efficiencies(const scores::RocPoint& point) {
  return {point.fpr, point.tpr};
}

plot::Point rejection(const scores::RocPoint& point) {
  return {point.tpr, 1 / point.fpr};  // infinite at first: there the curve begins where background passes
}

plot::SeriesStyle style_of(size_t model) {
  return model == 0 ? plot::SeriesStyle::kLine : plot::SeriesStyle::kDashed;
}

std::vector<plot::Series> curves(const ScoreReport& report, MakePoint make) {
  std::vector<plot::Series> series;
  for (size_t model = report.models.size(); model-- > 0;) {  // the first one on top
    for (const size_t label : report.shown_classes()) {
      plot::Series curve{
          .label = report.parts[label], .colour = plot::category_colour(label), .style = style_of(model), .points = {}};
      for (const auto& point : classifier(report).models[model].classes[label].roc.points)
        curve.points.push_back(make(point));
      series.push_back(std::move(curve));
    }
  }
  return series;
}

// A guess by chance, drawn with too many points for dots.
plot::Series chance(bool as_rejection) {
  plot::Series series{.label = "chance", .colour = plot::kAxisGrey, .style = plot::SeriesStyle::kDashed, .points = {}};
  for (int i = 1; i <= 100; ++i) series.points.push_back({i / 100.0, as_rejection ? 100.0 / i : i / 100.0});
  return series;
}

// Which line is which model, where there are two.
void add_models(const ScoreReport& report, std::vector<plot::KeyEntry>& key) {
  if (!report.compares()) return;
  key.push_back({.text = report.models[0], .stroke = {.colour = plot::kSoftInk, .width = 1.6}});
  key.push_back({.text = report.models[1], .stroke = {.colour = plot::kSoftInk, .width = 1.6, .dash = 4}});
}

std::vector<plot::KeyEntry> auc_key(const ScoreReport& report) {
  std::vector<plot::KeyEntry> key;
  for (const size_t label : report.shown_classes()) {
    const int part = static_cast<int>(label);
    key.push_back(
        {.text = fmt::format("{}  {}", report.parts[label], score_text(scores::find(report.scores_of(0), "auc", part))),
         .stroke = {.colour = plot::category_colour(label), .width = 1.6}});
    if (!report.compares()) continue;
    const scores::Estimate* difference = scores::find(report.difference(), "auc", part);
    key.push_back({.text = fmt::format("     Δ {} ({})", score_text(difference), significance_text(difference)),
                   .stroke = kNoLine});
  }
  add_models(report, key);
  return key;
}

std::vector<plot::KeyEntry> class_key(const ScoreReport& report) {
  std::vector<plot::KeyEntry> key;
  for (const size_t label : report.shown_classes())
    key.push_back({.text = report.parts[label], .stroke = {.colour = plot::category_colour(label), .width = 1.6}});
  add_models(report, key);
  return key;
}

NamedPicture roc_picture(const ScoreReport& report) {
  plot::Figure figure(kNarrow, kNarrowHeight);
  const plot::Rect outer{kMargin, kMargin, kNarrow - 2 * kMargin, kNarrowHeight - kMargin - kNote};
  plot::LineChart chart{.title = "ROC",
                        .x = {.low = 0, .high = 1, .label = "background efficiency"},
                        .y = {.low = 0, .high = 1, .label = "signal efficiency"},
                        .series = {chance(false)}};
  for (plot::Series& series : curves(report, efficiencies)) chart.series.push_back(std::move(series));
  plot::draw_line_chart(figure, outer, chart, plot::Legend::kNone);
  plot::draw_key(figure, {outer.x + 46, outer.y + 22, outer.width - 54, outer.height - 54}, plot::Corner::kBottomRight,
                 auc_key(report), 16);
  figure.text({outer.x + 46, kNarrowHeight - kNote / 2},
              report.compares() ? fmt::format("AUC of {} · Δ: minus that of {}", report.models[0], report.models[1])
                                : "area under the curve ± bootstrap standard deviation",
              {.size = 8, .colour = plot::kSoftInk});
  return {
      "roc", "ROC curves",
      "Each class against all others: the share of the class (signal) that passes a threshold over the share of the "
      "others (background) that does. Dashed grey: chance.",
      figure.picture()};
}

NamedPicture rejection_picture(const ScoreReport& report) {
  plot::LineChart chart{.title = "background rejection",
                        .x = {.low = 0, .high = 1, .label = "signal efficiency"},
                        .y = {},
                        .series = {chance(true)}};
  double highest = 10;
  for (plot::Series& series : curves(report, rejection)) {
    for (const plot::Point& point : series.points)
      if (std::isfinite(point.y)) highest = std::max(highest, point.y);
    chart.series.push_back(std::move(series));
  }
  chart.y = {.low = 1,
             .high = std::pow(10, std::ceil(std::log10(highest))),
             .scale = plot::Scale::kLog,
             .label = "1 / background efficiency"};
  plot::Figure figure(kNarrow, kNarrowHeight);
  const plot::Rect outer{kMargin, kMargin, kNarrow - 2 * kMargin, kNarrowHeight - kMargin - kNote};
  plot::draw_line_chart(figure, outer, chart, plot::Legend::kNone);
  plot::draw_key(figure, {outer.x + 46, outer.y + 22, outer.width - 54, outer.height - 54}, plot::Corner::kTopRight,
                 class_key(report));
  return {"rejection", "background rejection",
          "How many background events are rejected for one that passes, over the signal efficiency, on a logarithmic "
          "axis. The left ends rest on few background events.",
          figure.picture()};
}

}  // namespace

std::vector<NamedPicture> roc_pictures(const ScoreReport& report) {
  std::vector<NamedPicture> pictures;
  pictures.push_back(roc_picture(report));
  pictures.push_back(rejection_picture(report));
  return pictures;
}

}  // namespace linac::report
