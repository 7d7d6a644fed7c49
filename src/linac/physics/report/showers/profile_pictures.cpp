#include <fmt/format.h>

#include <array>

#include "linac/physics/plot/ratio_chart.h"
#include "linac/physics/report/showers/measured.h"
#include "linac/physics/report/showers/pictures.h"

namespace linac::report {
namespace {

constexpr int kDecades = 6;

struct ProfileKind {
  physics::Profile profile;
  const char *name, *title, *x_label, *y_label, *caption;
  plot::Scale scale;
};

constexpr std::array<ProfileKind, 4> kKinds{{
    {physics::Profile::kDepth, "longitudinal", "energy in each layer", "layer z",
     "share of the primary energy per layer",
     "Mean longitudinal profile: how the shower develops with depth. Each shower counts over its primary energy.",
     plot::Scale::kLinear},
    {physics::Profile::kRadial, "radial", "energy by radius", "distance from the barycentre, cells",
     "share of the primary energy per ring",
     "Mean share of the primary energy in rings one cell wide about each shower's barycentre.", plot::Scale::kLog},
    {physics::Profile::kX, "transverse-x", "energy across, x", "cell x", "share of the primary energy per cell",
     "Mean transverse profile in x, summed over y and all layers.", plot::Scale::kLog},
    {physics::Profile::kY, "transverse-y", "energy across, y", "cell y", "share of the primary energy per cell",
     "Mean transverse profile in y, summed over x and all layers.", plot::Scale::kLog},
}};

// Without the empty bins at the end: the rings beyond the image's border.
void trim(plot::Binned& a, plot::Binned& b) {
  size_t bins = a.values.size();
  while (bins > 1 && !(a.values[bins - 1] > 0) && !(b.values[bins - 1] > 0)) --bins;
  for (auto* values : {&a.values, &a.errors, &b.values, &b.errors})
    if (!values->empty()) values->resize(bins);
}

NamedPicture draw_profile(const ShowerReport& report, const ProfileKind& kind) {
  plot::RatioChart chart{.title = kind.title,
                         .note = fmt::format("{} · all cells · {}", counts(report), bands_note(report)),
                         .x = {},
                         .y = {},
                         .edges = {},
                         .reference_name = report.reference_name,
                         .sample_name = report.sample_name,
                         .reference = mean_profile(*report.reference, kind.profile),
                         .sample = mean_profile(*report.sample, kind.profile),
                         .marks = {}};
  if (kind.profile == physics::Profile::kRadial) trim(chart.reference, chart.sample);
  const size_t bins = chart.reference.values.size();
  chart.edges = plot::whole_edges(bins);
  chart.x = {.low = 0, .high = static_cast<double>(bins), .label = kind.x_label};
  if (kind.scale == plot::Scale::kLog) {
    chart.y = log_axis(chart.reference, chart.sample, kDecades, kind.y_label);
  } else {
    std::vector<double> both = chart.reference.values;
    both.insert(both.end(), chart.sample.values.begin(), chart.sample.values.end());
    chart.y = plot::axis_around(both, plot::Scale::kLinear, kind.y_label);
  }
  plot::Figure figure(kNarrow, kNarrowHeight);
  plot::draw_ratio_chart(figure, {0, 0, kNarrow, kNarrowHeight}, chart);
  return {kind.name, kind.title, kind.caption, figure.picture()};
}

}  // namespace

std::vector<NamedPicture> profile_pictures(const ShowerReport& report) {
  std::vector<NamedPicture> pictures;
  for (const ProfileKind& kind : kKinds) pictures.push_back(draw_profile(report, kind));
  return pictures;
}

}  // namespace linac::report
