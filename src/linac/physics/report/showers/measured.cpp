#include "linac/physics/report/showers/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace linac::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

constexpr int kSlices = 7;

// The events with a finite value of the observable, slice by slice.
std::vector<std::vector<size_t>> sliced(const physics::Sample& sample, physics::Observable observable,
                                        const std::vector<double>& edges) {
  std::vector<std::vector<size_t>> slices(edges.size() - 1);
  for (size_t event = 0; event < static_cast<size_t>(sample.events()); ++event) {
    const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, sample.energies()[event]);
    if (std::isfinite(sample.values(observable)[event]))
      slices[static_cast<size_t>(above - edges.begin()) - 1].push_back(event);
  }
  return slices;
}

}  // namespace

plot::Binned mean_profile(const physics::Sample& sample, physics::Profile profile) {
  plot::Binned result{.values = sample.profile(profile, 0), .errors = {}};
  const int bootstraps = sample.options().bootstraps;
  if (bootstraps < 2) return result;
  std::vector<double> sum(result.values.size()), squares(result.values.size());
  for (int i = 0; i < bootstraps; ++i) {
    const std::vector<double> replica = sample.profile(profile, sample.bootstrap(i));
    for (size_t k = 0; k < sum.size(); ++k) {
      const double difference = replica[k] - result.values[k];
      sum[k] += difference;
      squares[k] += difference * difference;
    }
  }
  for (size_t k = 0; k < sum.size(); ++k) {
    const double variance = (squares[k] - sum[k] * sum[k] / bootstraps) / (bootstraps - 1);
    result.errors.push_back(std::sqrt(std::max(0.0, variance)));
  }
  return result;
}

std::vector<double> energy_slices(const ShowerReport& report) {
  const std::vector<double>& bins = report.reference->options().energy_edges;
  return physics::even_edges({bins.front(), bins.back()}, kSlices);
}

plot::Binned mean_in_slices(const physics::Sample& sample, physics::Observable observable,
                            const std::vector<double>& edges) {
  plot::Binned result;
  for (const std::vector<size_t>& slice : sliced(sample, observable, edges)) {
    const auto n = static_cast<double>(slice.size());
    double mean = 0, square = 0;
    for (const size_t event : slice) mean += sample.values(observable)[event] / n;
    for (const size_t event : slice) square += std::pow(sample.values(observable)[event] - mean, 2) / (n - 1);
    const bool enough = static_cast<int64_t>(slice.size()) >= kSliceEventsMin;
    result.values.push_back(enough ? mean : kNan);
    result.errors.push_back(enough ? std::sqrt(square / n) : kNan);
  }
  return result;
}

Resolution resolution_in_slices(const physics::Sample& sample, const std::vector<double>& edges) {
  Resolution result;
  std::vector<physics::ResolutionPoint> points;
  for (const std::vector<size_t>& slice : sliced(sample, physics::kResponse, edges)) {
    std::vector<float> responses;
    double energy = 0;
    for (const size_t event : slice) {
      responses.push_back(sample.values(physics::kResponse)[event]);
      energy += sample.energies()[event] / static_cast<double>(slice.size());
    }
    const std::optional<physics::Core> core = physics::gaussian_core(responses);
    const bool known = core && core->mean > 0;
    const double value = known ? core->width / core->mean : kNan, error = known ? core->width_error / core->mean : kNan;
    result.slices.values.push_back(value);
    result.slices.errors.push_back(error);
    if (known) points.push_back({energy, value, error});
  }
  result.fit = physics::fit_resolution(points);
  return result;
}

plot::Axis close_axis(const std::vector<const plot::Binned*>& curves, std::string label) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const plot::Binned* curve : curves) {
    for (size_t i = 0; i < curve->values.size(); ++i) {
      if (!std::isfinite(curve->values[i] + curve->up(i))) continue;
      low = std::min(low, curve->values[i] - curve->down(i));
      high = std::max(high, curve->values[i] + curve->up(i));
    }
  }
  if (low > high) return {.low = 0, .high = 1, .label = std::move(label)};
  const double margin = high > low ? 0.15 * (high - low) : std::max(0.1 * std::abs(high), 1e-6);
  return {.low = low - margin, .high = high + margin, .label = std::move(label)};
}

plot::Axis log_axis(const plot::Binned& a, const plot::Binned& b, int decades, std::string label) {
  std::vector<double> both = a.values;
  both.insert(both.end(), b.values.begin(), b.values.end());
  plot::Axis axis = plot::axis_around(both, plot::Scale::kLog, std::move(label));
  axis.low = std::max(axis.low, axis.high * std::pow(10, -decades));
  return axis;
}

std::string counts(const ShowerReport& report) {
  return fmt::format("{} and {} showers", report.reference->events(), report.sample->events());
}

std::string bands_note(const ShowerReport& report) {
  const int bootstraps = report.sample->options().bootstraps;
  return bootstraps < 2 ? "no bootstraps" : fmt::format("bands: one standard deviation of {} bootstraps", bootstraps);
}

}  // namespace linac::report
