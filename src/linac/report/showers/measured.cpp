#include "linac/report/showers/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace linac::report {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

struct Spread {
  double mean = kNan, mean_error = kNan, resolution = kNan, resolution_error = kNan;
};

// The variance of a standard deviation s from n values with the fourth central moment m4 is (m4 - s^4) / (4 n s^2).
Spread spread_of(const std::vector<double>& values) {
  if (static_cast<int64_t>(values.size()) < kSliceEventsMin) return {};
  const auto n = static_cast<double>(values.size());
  double mean = 0, second = 0, fourth = 0;
  for (const double value : values) mean += value / n;
  for (const double value : values) {
    const double square = (value - mean) * (value - mean);
    second += square / n;
    fourth += square * square / n;
  }
  const double deviation = std::sqrt(second * n / (n - 1));
  Spread spread{.mean = mean, .mean_error = deviation / std::sqrt(n)};
  if (!(mean > 0)) return spread;
  spread.resolution = deviation / mean;
  spread.resolution_error =
      second > 0 ? std::sqrt(std::max(0.0, fourth - second * second) / (4 * n * second)) / mean : 0;
  return spread;
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

Slices in_slices(const physics::Sample& sample, physics::Observable observable, const std::vector<double>& edges) {
  const size_t count = edges.size() - 1;
  std::vector<std::vector<double>> values(count);
  for (size_t event = 0; event < static_cast<size_t>(sample.events()); ++event) {
    const double energy = sample.energies()[event], value = sample.values(observable)[event];
    const auto above = std::upper_bound(edges.begin() + 1, edges.end() - 1, energy);
    if (std::isfinite(value)) values[static_cast<size_t>(above - edges.begin()) - 1].push_back(value);
  }
  Slices slices;
  for (const auto& slice : values) {
    const Spread spread = spread_of(slice);
    slices.mean.values.push_back(spread.mean);
    slices.mean.errors.push_back(spread.mean_error);
    slices.resolution.values.push_back(spread.resolution);
    slices.resolution.errors.push_back(spread.resolution_error);
  }
  return slices;
}

plot::Axis close_axis(const std::vector<const plot::Binned*>& curves, std::string label) {
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const plot::Binned* curve : curves) {
    for (size_t i = 0; i < curve->values.size(); ++i) {
      const double error = curve->errors.empty() ? 0 : curve->errors[i];
      if (!std::isfinite(curve->values[i] + error)) continue;
      low = std::min(low, curve->values[i] - error);
      high = std::max(high, curve->values[i] + error);
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
