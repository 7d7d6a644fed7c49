#include <fmt/format.h>

#include <array>
#include <cmath>
#include <numbers>

#include "linac/physics/physics/feature_distance.h"
#include "linac/physics/plot/colour_scale.h"
#include "linac/physics/report/page/numbers.h"
#include "linac/physics/report/showers/ledger.h"
#include "linac/physics/report/showers/measured.h"
#include "linac/physics/report/showers/pictures.h"

namespace linac::report {
namespace {

constexpr double kLeft = 92, kTop = 66, kSide = 228, kGap = 20, kNames = 84, kBelow = 24, kBarWidth = 9;
constexpr int64_t kEventsMax = 50'000;  // evenly picked

physics::Matrix correlations(const physics::Sample& sample) {
  const int64_t stride = (sample.events() + kEventsMax - 1) / kEventsMax;
  const int64_t rows = (sample.events() + stride - 1) / stride;
  physics::Matrix features(rows, static_cast<Eigen::Index>(physics::kObservables));
  for (size_t o = 0; o < physics::kObservables; ++o) {
    const auto values = sample.values(static_cast<physics::Observable>(o));
    for (int64_t i = 0; i < rows; ++i)
      features(i, static_cast<Eigen::Index>(o)) = values[static_cast<size_t>(i * stride)];
  }
  const physics::Matrix standard = physics::standardise(features, physics::scaling_of(features));
  return physics::correlation(physics::gaussian(standard, physics::Vector::Ones(rows)));
}

// The first observable at the top and to the left.
void draw_matrix(plot::Figure& figure, const plot::Rect& area, const physics::Matrix& matrix,
                 const plot::Axis& colour) {
  const Eigen::Index n = matrix.rows();
  std::vector<plot::Colour> colours;
  for (Eigen::Index row = 0; row < n; ++row) {
    for (Eigen::Index column = 0; column < n; ++column) {
      const double value = matrix(row, column);
      colours.push_back(std::isfinite(value) ? plot::diverging(colour.fraction(value)) : plot::kAxisGrey);
    }
  }
  figure.cells(area, n, n, colours);
  const double cell = area.width / static_cast<double>(n);
  for (size_t i = 0; i < physics::kObservables; ++i) {
    figure.text({area.x + (static_cast<double>(i) + 0.5) * cell, area.bottom() + 6},
                physics::observable_table()[i].name,
                {.size = 7.5, .colour = plot::kSoftInk, .align = plot::Align::kRight, .angle = -std::numbers::pi / 2});
  }
}

void draw_names(plot::Figure& figure, const plot::Rect& area) {
  const double cell = area.height / static_cast<double>(physics::kObservables);
  for (size_t i = 0; i < physics::kObservables; ++i) {
    figure.text({area.x - 6, area.y + (static_cast<double>(i) + 0.5) * cell}, physics::observable_table()[i].name,
                {.size = 7.5, .colour = plot::kSoftInk, .align = plot::Align::kRight});
  }
}

}  // namespace

NamedPicture correlation_picture(const ShowerReport& report) {
  const physics::Matrix reference = correlations(*report.reference), sample = correlations(*report.sample);
  const std::array<physics::Matrix, 3> matrices{reference, sample, sample - reference};
  const std::array<std::string, 3> titles{report.reference_name, report.sample_name, "difference"};
  const std::array<plot::Colour, 3> colours{plot::kReferenceColour, plot::kSampleColour, plot::kInk};
  const plot::Axis scale{.low = -1, .high = 1, .label = ""};
  plot::Figure figure(kWide, kTop + kSide + kNames + kBelow);
  figure.text({18, 20}, "correlations among the observables", {.size = 12, .weight = plot::Weight::kBold});
  for (size_t i = 0; i < matrices.size(); ++i) {
    const plot::Rect area{kLeft + static_cast<double>(i) * (kSide + kGap), kTop, kSide, kSide};
    const plot::TextStyle style{.size = 10, .colour = colours[i], .weight = plot::Weight::kBold};
    figure.text({area.x, kTop - 12}, figure.elided(titles[i], kSide, style), style);
    draw_matrix(figure, area, matrices[i], scale);
    if (i == 0) draw_names(figure, area);
  }
  const double bar = kLeft + 3 * kSide + 2 * kGap + 10;
  plot::draw_colour_bar(figure, {bar, kTop, kBarWidth, kSide}, scale, plot::diverging);
  const Ledger ledger(report);
  const auto* distance = ledger.overall("correlation");
  figure.text({18, kTop + kSide + kNames + kBelow / 2},
              fmt::format("{} · all cells; hits are cells above {:g} GeV{}", counts(report), report.hit_threshold_gev,
                          distance ? " · root mean square difference " + short_number(distance->value) : ""),
              {.size = 8, .colour = plot::kSoftInk});
  return {"correlations", "correlations",
          "Correlation matrices of the observables and the sample's minus the reference's, on the same scale.",
          figure.picture()};
}

}  // namespace linac::report
