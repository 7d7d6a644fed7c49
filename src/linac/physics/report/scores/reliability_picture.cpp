#include <fmt/format.h>

#include <cmath>

#include "linac/base/base/binomial.h"
#include "linac/physics/plot/axis.h"
#include "linac/physics/plot/binned.h"
#include "linac/physics/plot/categories.h"
#include "linac/physics/report/scores/pictures.h"
#include "linac/physics/report/scores/words.h"

namespace linac::report {
namespace {

constexpr double kLeft = 56, kRight = 16, kTop = 30, kPanel = 58, kBetween = 14, kBelow = 36;

bool has_shares(const scores::ReliabilityBin& bin) {
  return !std::isnan(bin.observed);
}

void draw_curve(plot::Figure& figure, const plot::BinnedArea& where, const std::vector<scores::ReliabilityBin>& bins,
                plot::Colour colour) {
  std::vector<plot::Point> line;
  for (const scores::ReliabilityBin& bin : bins)
    if (has_shares(bin)) line.push_back(plot::place(where.area, where.x, where.y, {bin.predicted, bin.observed}));
  figure.polyline(line, {.colour = colour, .width = 1.2});
  figure.clip({where.area.x - 4, where.area.y - 4, where.area.width + 8, where.area.height + 8});
  for (const scores::ReliabilityBin& bin : bins) {
    if (!has_shares(bin)) continue;
    const Range interval = share_interval(bin.observed, bin.effective);
    const auto at = [&](double y) { return plot::place(where.area, where.x, where.y, {bin.predicted, y}); };
    figure.line(at(interval.low), at(interval.high), {.colour = colour, .width = 1.2});
    figure.disc(at(bin.observed), 3, plot::kPaper);
    figure.disc(at(bin.observed), 2.3, colour);
  }
  figure.unclip();
}

// Of weighted events as many as know their share as well.
std::vector<double> events_in(const std::vector<scores::ReliabilityBin>& bins) {
  std::vector<double> events;
  for (const scores::ReliabilityBin& bin : bins) events.push_back(bin.effective);
  return events;
}

NamedPicture picture_of(const ScoreReport& report, size_t model) {
  const std::string of = report.compares() ? ", " + report.models[model] : "";
  plot::Figure figure(kNarrow, kNarrowHeight);
  const plot::TextStyle style{.size = 9.5, .weight = plot::Weight::kBold};
  const plot::Rect panel{kLeft, kNarrowHeight - kBelow - kPanel, kNarrow - kLeft - kRight, kPanel};
  const plot::Rect area{kLeft, kTop, panel.width, panel.y - kBetween - kTop};
  figure.text({kLeft, 16}, figure.elided("reliability" + of, area.width, style), style);
  std::vector<double> edges = plot::whole_edges(scores::kReliabilityBins), most;
  for (double& edge : edges) edge /= static_cast<double>(scores::kReliabilityBins);
  const auto& classes = classifier(report).models[model].classes;
  for (const size_t label : report.shown_classes())
    for (const double events : events_in(classes[label].reliability)) most.push_back(events);
  const plot::Axis x{.low = 0, .high = 1, .label = "probability"};
  plot::Axis counts = plot::axis_around(most, plot::Scale::kLog, "events");
  counts.low = 0.5;
  counts.high *= 2;
  const plot::BinnedArea upper{area, x, {.low = 0, .high = 1, .label = "share of the events"}, edges};
  const plot::BinnedArea lower{panel, x, counts, edges};
  plot::draw_y_axis(figure, area, upper.y, plot::Grid::kHorizontal);
  figure.line({area.x, area.bottom()}, {area.right(), area.bottom()}, {.colour = plot::kAxisGrey, .width = 0.8});
  plot::draw_frame(figure, panel, x, counts, plot::Grid::kNone);
  figure.line({area.x, area.bottom()}, {area.right(), area.y}, {.colour = plot::kAxisGrey, .width = 1.6, .dash = 4});
  std::vector<plot::KeyEntry> key;
  for (const size_t label : report.shown_classes()) {
    const plot::Colour colour = plot::category_colour(label);
    draw_curve(figure, upper, classes[label].reliability, colour);
    plot::draw_steps(figure, lower, events_in(classes[label].reliability), {.colour = colour, .width = 1.3});
    const auto* error = scores::find(report.scores_of(model), "ece", static_cast<int>(label));
    key.push_back({.text = fmt::format("{}  {}", report.parts[label], score_text(error)),
                   .stroke = {.colour = colour, .width = 1.6}});
  }
  constexpr size_t kLinesMax = 4;  // more would hide the curves
  plot::draw_key(figure, area, plot::Corner::kTopLeft, key, kLinesMax);
  return {model == 0 ? "reliability" : "reliability-other", "reliability" + of,
          "Of the events that get a probability for a class, the share that belongs to it, with binomial intervals "
          "(one standard deviation); on the "
          "dashed line probabilities are frequencies. Numbers: calibration error. Below: events in each bin.",
          figure.picture()};
}

}  // namespace

std::vector<NamedPicture> reliability_pictures(const ScoreReport& report) {
  std::vector<NamedPicture> pictures;
  for (size_t model = 0; model < report.models.size(); ++model) pictures.push_back(picture_of(report, model));
  return pictures;
}

}  // namespace linac::report
