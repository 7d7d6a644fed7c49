#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/physics/plot/categories.h"
#include "linac/physics/plot/line_chart.h"
#include "linac/physics/report/scores/pictures.h"
#include "linac/physics/report/scores/tables.h"
#include "linac/physics/report/scores/words.h"

namespace linac::report {
namespace {

constexpr double kNote = 18, kMargin = 6;
constexpr plot::Stroke kNoLine{.width = 0};

// One way to draw a curve: its points, and where it is known to what.
struct Drawing {
  plot::Point (*point)(const scores::RocPoint&);
  std::vector<scores::Estimate> scores::RocBand::*band;
  const std::vector<double>& (*places)();
  double most;  // that a curve can have
};

constexpr Drawing kEfficiencies{[](const scores::RocPoint& point) -> plot::Point {
                                  return {point.fpr, point.tpr};
                                },
                                &scores::RocBand::tpr, scores::band_fprs, 1};
// Infinite at first: there the curve begins where background passes.
constexpr Drawing kRejection{[](const scores::RocPoint& point) -> plot::Point {
                               return {point.tpr, 1 / point.fpr};
                             },
                             &scores::RocBand::rejection, scores::band_tprs, std::numeric_limits<double>::infinity()};

std::vector<plot::Interval> band_of(const scores::RocBand& band, const Drawing& drawing) {
  std::vector<plot::Interval> intervals;
  const std::vector<scores::Estimate>& estimates = band.*drawing.band;
  for (size_t i = 0; i < estimates.size(); ++i)
    intervals.push_back({drawing.places()[i], estimates[i].low, std::min(estimates[i].high, drawing.most)});
  return intervals;
}

std::vector<plot::Point> mean_of(const scores::RocBand& folds, const Drawing& drawing) {
  std::vector<plot::Point> points;
  for (const scores::Estimate& mean : folds.*drawing.band)
    points.push_back({drawing.places()[points.size()], mean.value});
  return points;
}

plot::SeriesStyle style_of(size_t model) {
  return model == 0 ? plot::SeriesStyle::kLine : plot::SeriesStyle::kDashed;
}

std::vector<plot::Series> curves(const ScoreReport& report, const Drawing& drawing) {
  std::vector<plot::Series> series;
  for (size_t model = report.models.size(); model-- > 0;) {  // the first one on top
    for (const size_t label : report.shown_classes()) {
      plot::Series curve{.label = report.parts[label],
                         .colour = plot::category_colour(label),
                         .style = report.folds ? plot::SeriesStyle::kThin : style_of(model),
                         .points = {}};
      const scores::ClassDetail& found = classifier(report).models[model].classes[label];
      for (const auto& point : found.roc.points) curve.points.push_back(drawing.point(point));
      if (!report.folds) curve.band = band_of(found.band, drawing);
      series.push_back(std::move(curve));
    }
  }
  if (!report.folds) return series;
  for (const size_t label : report.shown_classes()) {
    const scores::RocBand& mean = report.folds->figures.bands[label];
    series.push_back({.label = report.parts[label],
                      .colour = plot::category_colour(label),
                      .points = mean_of(mean, drawing),
                      .band = band_of(mean, drawing)});
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
  if (report.folds) {
    key.push_back(
        {.text = fmt::format("mean of {}", report.models.size()), .stroke = {.colour = plot::kSoftInk, .width = 1.6}});
    key.push_back({.text = "each", .stroke = {.colour = plot::kSoftInk, .width = 0.6}});
  }
  if (!report.compares()) return;
  key.push_back({.text = report.models[0], .stroke = {.colour = plot::kSoftInk, .width = 1.6}});
  key.push_back({.text = report.models[1], .stroke = {.colour = plot::kSoftInk, .width = 1.6, .dash = 4}});
}

std::vector<plot::KeyEntry> auc_key(const ScoreReport& report) {
  std::vector<plot::KeyEntry> key;
  for (const size_t label : report.shown_classes()) {
    const int part = static_cast<int>(label);
    key.push_back({.text = fmt::format("{}  {}", report.parts[label],
                                       score_text(scores::find(*rows_of(report)[0].scores, "auc", part))),
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

std::string bands_text(const ScoreReport& report) {
  return report.folds ? "Thick: the mean of the models, and a standard deviation of them to either side; thin: each"
                      : "Bands: the central 68 % of the bootstrap replicas";
}

NamedPicture roc_picture(const ScoreReport& report) {
  plot::Figure figure(kNarrow, kNarrowHeight);
  const plot::Rect outer{kMargin, kMargin, kNarrow - 2 * kMargin, kNarrowHeight - kMargin - kNote};
  plot::LineChart chart{.title = "ROC",
                        .x = {.low = 0, .high = 1, .label = "background efficiency"},
                        .y = {.low = 0, .high = 1, .label = "signal efficiency"},
                        .series = {chance(false)}};
  for (plot::Series& series : curves(report, kEfficiencies)) chart.series.push_back(std::move(series));
  plot::draw_line_chart(figure, outer, chart, plot::Legend::kNone);
  plot::draw_key(figure, {outer.x + 46, outer.y + 22, outer.width - 54, outer.height - 54}, plot::Corner::kBottomRight,
                 auc_key(report), 16);
  figure.text({outer.x + 46, kNarrowHeight - kNote / 2},
              report.compares() ? fmt::format("AUC of {} · Δ: minus that of {}", report.models[0], report.models[1])
              : report.folds    ? "area under the curve, mean ± standard deviation of the models"
                                : "area under the curve ± bootstrap standard deviation",
              {.size = 8, .colour = plot::kSoftInk});
  return {
      "roc", "ROC curves",
      std::string("Each class against all others, or events with a label against those without: the share of the class "
                  "(signal) that passes a threshold over the share of the "
                  "others (background) that does. ") +
          bands_text(report) + ". Dashed grey: chance.",
      figure.picture()};
}

NamedPicture rejection_picture(const ScoreReport& report) {
  plot::LineChart chart{.title = "background rejection",
                        .x = {.low = 0, .high = 1, .label = "signal efficiency"},
                        .y = {},
                        .series = {chance(true)}};
  double highest = 10;
  for (plot::Series& series : curves(report, kRejection)) {
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
  return {
      "rejection", "background rejection",
      std::string(
          "How many background events are rejected for one that passes, over the signal efficiency, on a logarithmic "
          "axis. ") +
          bands_text(report) + "; the left ends rest on few background events.",
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
