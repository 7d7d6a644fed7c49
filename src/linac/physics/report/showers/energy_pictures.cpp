#include <fmt/format.h>

#include <array>

#include "linac/physics/plot/categories.h"
#include "linac/physics/plot/ratio_chart.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/showers/measured.h"
#include "linac/physics/report/showers/pictures.h"

namespace linac::report {
namespace {

constexpr int kCurvePoints = 100;

plot::RatioChart chart_of(const ShowerReport& report, const std::string& title, const std::string& y_label,
                          plot::Binned reference, plot::Binned sample) {
  plot::RatioChart chart{
      .title = title,
      .note = fmt::format("{} · all cells · bars: statistical error, one standard deviation", counts(report)),
      .x = {},
      .y = {},
      .edges = energy_slices(report),
      .reference_name = report.reference_name,
      .sample_name = report.sample_name,
      .reference = std::move(reference),
      .sample = std::move(sample),
      .style = plot::BinStyle::kPoints,
      .marks = {}};
  chart.x = {.low = chart.edges.front(), .high = chart.edges.back(), .label = "primary energy, GeV"};
  chart.y = close_axis({&chart.reference, &chart.sample}, y_label);
  return chart;
}

NamedPicture mean_picture(const ShowerReport& report, physics::Observable observable, const std::string& name,
                          const std::string& title, const std::string& y_label, const std::string& caption) {
  const std::vector<double> edges = energy_slices(report);
  plot::Figure figure(kNarrow, kNarrowHeight);
  plot::draw_ratio_chart(figure, {0, 0, kNarrow, kNarrowHeight},
                         chart_of(report, title, y_label, mean_in_slices(*report.reference, observable, edges),
                                  mean_in_slices(*report.sample, observable, edges)));
  return {name, title + " by energy", caption, figure.picture()};
}

// "(12.3 ± 1.1) %/√E ⊕ (1.0 ± 0.2) % ⊕ (0.1 ± 0.1) GeV/E, χ² 3.1/4", without the terms that are 0.
std::string fit_text(const std::optional<physics::ResolutionFit>& fit) {
  if (!fit) return "no fit";
  std::string text;
  const auto add = [&](const physics::Term& term, double factor, const char* unit) {
    if (!(term.value > 0)) return;
    text += fmt::format("{}({}) {}", text.empty() ? "" : " ⊕ ",
                        with_uncertainty(factor * term.value, factor * term.error), unit);
  };
  add(fit->stochastic, 100, "%/√E");
  add(fit->constant, 100, "%");
  add(fit->noise, 1, "GeV/E");
  return fmt::format("{}, χ² {:.1f}/{}", text.empty() ? "0" : text, fit->chi2, fit->degrees);
}

plot::Curve curve_of(const physics::ResolutionFit& fit, const plot::Axis& x, plot::Colour colour) {
  plot::Curve curve{.colour = colour, .points = {}};
  for (int i = 0; i <= kCurvePoints; ++i) {
    const double energy = x.low + (x.high - x.low) * i / kCurvePoints;
    if (energy > 0) curve.points.push_back({energy, fit.at(energy)});
  }
  return curve;
}

NamedPicture resolution_picture(const ShowerReport& report) {
  const std::vector<double> edges = energy_slices(report);
  const Resolution reference = resolution_in_slices(*report.reference, edges),
                   sample = resolution_in_slices(*report.sample, edges);
  plot::RatioChart chart =
      chart_of(report, "resolution", "width / mean of the response's core", reference.slices, sample.slices);
  chart.y.high += 0.25 * (chart.y.high - chart.y.low);  // room for the fits
  std::vector<plot::KeyEntry> key;
  for (const auto& [resolution, colour] :
       {std::pair{&reference, plot::kReferenceColour}, std::pair{&sample, plot::kSampleColour}}) {
    if (resolution->fit) chart.curves.push_back(curve_of(*resolution->fit, chart.x, colour));
    key.push_back({.text = fit_text(resolution->fit), .stroke = {.colour = colour, .width = 1, .dash = 3}});
  }
  plot::Figure figure(kNarrow, kNarrowHeight);
  const plot::Rect outer{0, 0, kNarrow, kNarrowHeight};
  plot::draw_ratio_chart(figure, outer, chart);
  plot::draw_key(figure, {54, 26, kNarrow - 66, 60}, plot::Corner::kTopRight, key);
  return {"resolution", "resolution by energy",
          fmt::format("Resolution: the width of the response's Gaussian core over its mean, and a/√E ⊕ b ⊕ c/E fitted "
                      "to it (E in GeV, ⊕: in quadrature, no term below 0). The core: within two widths of the mean, "
                      "found again until it stays; tails do not count. {}: {}; {}: {}.",
                      report.reference_name, fit_text(reference.fit), report.sample_name, fit_text(sample.fit)),
          figure.picture()};
}

}  // namespace

std::vector<NamedPicture> energy_pictures(const ShowerReport& report) {
  std::vector<NamedPicture> pictures;
  pictures.push_back(mean_picture(report, physics::kResponse, "response", "response",
                                  "mean of image energy / primary energy",
                                  "Linearity: the mean response in slices of the primary energy."));
  pictures.push_back(resolution_picture(report));
  pictures.push_back(mean_picture(report, physics::kDepthMean, "depth", "mean depth", "mean depth, layers",
                                  "Depth of the shower's centre, which grows with the logarithm of the energy."));
  return pictures;
}

}  // namespace linac::report
