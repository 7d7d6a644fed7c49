#include <fmt/format.h>

#include <array>

#include "linac/plot/ratio_chart.h"
#include "linac/report/showers/measured.h"
#include "linac/report/showers/pictures.h"

namespace linac::report {
namespace {

constexpr int kSlices = 7;

struct EnergyKind {
  physics::Observable observable;
  plot::Binned Slices::*curve;
  const char *name, *title, *y_label, *caption;
};

constexpr std::array<EnergyKind, 3> kKinds{{
    {physics::kResponse, &Slices::mean, "response", "response", "mean of image energy / primary energy",
     "Linearity: the mean response in slices of the primary energy."},
    {physics::kResponse, &Slices::resolution, "resolution", "resolution", "width / mean of the response",
     "Resolution: the standard deviation of the response over its mean."},
    {physics::kDepthMean, &Slices::mean, "depth", "mean depth", "mean depth, layers",
     "Depth of the shower's centre, which grows with the logarithm of the energy."},
}};

std::vector<double> slice_edges(const physics::Sample& reference) {
  const double low = reference.options().energy_edges.front(), high = reference.options().energy_edges.back();
  std::vector<double> edges;
  for (int i = 0; i <= kSlices; ++i) edges.push_back(low + (high - low) * i / kSlices);
  return edges;
}

NamedPicture draw_kind(const ShowerReport& report, const EnergyKind& kind) {
  plot::RatioChart chart{
      .title = kind.title,
      .note = fmt::format("{} · all cells · bars: statistical error, one standard deviation", counts(report)),
      .x = {},
      .y = {},
      .edges = slice_edges(*report.reference),
      .reference_name = report.reference_name,
      .sample_name = report.sample_name,
      .reference = {},
      .sample = {},
      .style = plot::BinStyle::kPoints,
      .marks = {}};
  chart.reference = in_slices(*report.reference, kind.observable, chart.edges).*kind.curve;
  chart.sample = in_slices(*report.sample, kind.observable, chart.edges).*kind.curve;
  chart.x = {.low = chart.edges.front(), .high = chart.edges.back(), .label = "primary energy, GeV"};
  chart.y = close_axis({&chart.reference, &chart.sample}, kind.y_label);
  plot::Figure figure(kNarrow, kNarrowHeight);
  plot::draw_ratio_chart(figure, {0, 0, kNarrow, kNarrowHeight}, chart);
  return {kind.name, fmt::format("{} by energy", kind.title), kind.caption, figure.picture()};
}

}  // namespace

std::vector<NamedPicture> energy_pictures(const ShowerReport& report) {
  std::vector<NamedPicture> pictures;
  for (const EnergyKind& kind : kKinds) pictures.push_back(draw_kind(report, kind));
  return pictures;
}

}  // namespace linac::report
