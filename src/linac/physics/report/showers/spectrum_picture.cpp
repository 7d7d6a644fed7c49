#include <fmt/format.h>

#include <cmath>

#include "linac/physics/plot/ratio_chart.h"
#include "linac/physics/report/showers/measured.h"
#include "linac/physics/report/showers/pictures.h"

namespace linac::report {
namespace {

constexpr int kDecades = 7;

// The bins where either sample has cells; all of them if neither has.
struct Filled {
  size_t first = 0, last = 0;
};

Filled filled_bins(const plot::Binned& a, const plot::Binned& b) {
  Filled filled{a.values.size(), 0};
  for (size_t i = 0; i < a.values.size(); ++i) {
    if (!(a.values[i] + b.values[i] > 0)) continue;
    filled.first = std::min(filled.first, i);
    filled.last = i + 1;
  }
  return filled.first < filled.last ? filled : Filled{0, a.values.size()};
}

void keep(plot::Binned& binned, const Filled& filled) {
  for (auto* values : {&binned.values, &binned.errors}) {
    if (values->empty()) continue;
    *values = std::vector<double>(values->begin() + static_cast<std::ptrdiff_t>(filled.first),
                                  values->begin() + static_cast<std::ptrdiff_t>(filled.last));
  }
}

}  // namespace

NamedPicture spectrum_picture(const ShowerReport& report) {
  plot::RatioChart chart{.title = "cells by energy",
                         .note = fmt::format("{} · bins: factors of two · {}", counts(report), bands_note(report)),
                         .x = {},
                         .y = {},
                         .edges = {},
                         .reference_name = report.reference_name,
                         .sample_name = report.sample_name,
                         .reference = mean_profile(*report.reference, physics::Profile::kSpectrum),
                         .sample = mean_profile(*report.sample, physics::Profile::kSpectrum),
                         .marks = {}};
  const Filled filled = filled_bins(chart.reference, chart.sample);
  keep(chart.reference, filled);
  keep(chart.sample, filled);
  for (size_t i = filled.first; i <= filled.last; ++i)
    chart.edges.push_back(std::ldexp(1.0, static_cast<int>(i) + physics::kSpectrumFirst));
  chart.x = {.low = chart.edges.front(),
             .high = chart.edges.back(),
             .scale = plot::Scale::kLog,
             .label = "energy of a cell, GeV"};
  chart.y = log_axis(chart.reference, chart.sample, kDecades, "cells per GeV of the primary and bin");
  if (report.hit_threshold_gev > 0)
    chart.marks.push_back({report.hit_threshold_gev, fmt::format("hits: above {:g} GeV", report.hit_threshold_gev)});
  plot::Figure figure(kNarrow, kNarrowHeight);
  plot::draw_ratio_chart(figure, {0, 0, kNarrow, kNarrowHeight}, chart);
  return {"spectrum", "cell energies",
          "How many cells hold how much energy, per GeV of the primary; empty cells do not count.", figure.picture()};
}

}  // namespace linac::report
