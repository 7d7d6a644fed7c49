#include "linac/physics/physics/resolution.h"

#include <Eigen/Dense>
#include <algorithm>
#include <array>
#include <cmath>

namespace linac::physics {
namespace {

constexpr double kCut = 2;  // widths to either side
// The standard deviation of a Gaussian of width 1 within them: sqrt(1 - 2 kCut phi(kCut) / (2 Phi(kCut) - 1)).
constexpr double kWidthInside = 0.87963;
// How much larger the errors are than those of an uncut Gaussian, by simulation (resolution_test.cpp repeats it).
constexpr double kMeanError = 1.15, kWidthError = 1.5;
constexpr int64_t kValuesMin = 10;
constexpr int kRoundsMax = 100, kWeightings = 4;
constexpr size_t kTerms = 3, kPointsMin = 4;

struct Moments {
  double mean = 0, deviation = 0;
  int64_t values = 0;
};

Moments within(std::span<const double> values, double low, double high) {
  Moments found;
  double squares = 0;
  for (const double value : values) {
    if (value < low || value > high) continue;
    ++found.values;
    const double before = value - found.mean;
    found.mean += before / static_cast<double>(found.values);
    squares += before * (value - found.mean);
  }
  if (found.values > 1) found.deviation = std::sqrt(squares / static_cast<double>(found.values - 1));
  return found;
}

std::array<double, kTerms> squares_at(double energy_gev) {
  return {1 / energy_gev, 1, 1 / (energy_gev * energy_gev)};
}

// A weighted least-squares solution with some of the terms only; nothing if it has one below 0.
struct Solution {
  std::array<double, kTerms> squares{}, errors{};
  double chi2 = 0;
  int terms = 0;
};
std::optional<Solution> solve(const std::vector<ResolutionPoint>& points, const std::vector<double>& expected,
                              unsigned terms) {
  std::vector<size_t> used;
  for (size_t term = 0; term < kTerms; ++term)
    if ((terms >> term & 1U) != 0) used.push_back(term);
  const auto rows = static_cast<Eigen::Index>(points.size()), columns = static_cast<Eigen::Index>(used.size());
  Eigen::MatrixXd a(rows, columns);
  Eigen::VectorXd b(rows);
  for (Eigen::Index row = 0; row < rows; ++row) {
    const ResolutionPoint& point = points[static_cast<size_t>(row)];
    // A width's error is a part of the true width: by the measured one, those that came out low would weigh more.
    const double known = expected[static_cast<size_t>(row)], error = point.error / point.resolution * known;
    const double weight = 1 / (2 * known * error);  // of the square
    for (Eigen::Index column = 0; column < columns; ++column)
      a(row, column) = weight * squares_at(point.energy_gev)[used[static_cast<size_t>(column)]];
    b(row) = weight * point.resolution * point.resolution;
  }
  const Eigen::MatrixXd covariance = (a.transpose() * a).inverse();
  const Eigen::VectorXd x = covariance * (a.transpose() * b);
  if (!x.allFinite() || x.minCoeff() < 0) return std::nullopt;
  Solution solution{.squares = {}, .errors = {}, .chi2 = (a * x - b).squaredNorm(), .terms = static_cast<int>(columns)};
  for (Eigen::Index column = 0; column < columns; ++column) {
    solution.squares[used[static_cast<size_t>(column)]] = x(column);
    solution.errors[used[static_cast<size_t>(column)]] = std::sqrt(covariance(column, column));
  }
  return solution;
}

// Of all choices of terms the best that has none below 0.
std::optional<Solution> best_of(const std::vector<ResolutionPoint>& points, const std::vector<double>& expected) {
  std::optional<Solution> best;
  for (unsigned terms = 1; terms < 1U << kTerms; ++terms) {
    const std::optional<Solution> found = solve(points, expected, terms);
    if (found && (!best || found->chi2 < best->chi2)) best = found;
  }
  return best;
}

}  // namespace

std::optional<Core> gaussian_core(std::span<const float> values) {
  std::vector<double> finite;
  for (const float value : values)
    if (std::isfinite(value)) finite.push_back(value);
  if (static_cast<int64_t>(finite.size()) < kValuesMin) return std::nullopt;
  const auto [lowest, highest] = std::minmax_element(finite.begin(), finite.end());
  Moments now = within(finite, *lowest, *highest);
  double width = now.deviation;
  for (int round = 0; round < kRoundsMax; ++round) {
    const Moments next = within(finite, now.mean - kCut * width, now.mean + kCut * width);
    const bool same = next.values == now.values && next.mean == now.mean;
    now = next;
    width = now.deviation / kWidthInside;
    if (same) break;
  }
  if (now.values < 2) return std::nullopt;
  const auto n = static_cast<double>(now.values);
  return Core{now.mean, width, kMeanError * width / std::sqrt(n), kWidthError * width / std::sqrt(2 * n), now.values};
}

double ResolutionFit::at(double energy_gev) const {
  const std::array<double, kTerms> parts = squares_at(energy_gev);
  return std::sqrt(stochastic.value * stochastic.value * parts[0] + constant.value * constant.value * parts[1] +
                   noise.value * noise.value * parts[2]);
}

std::optional<ResolutionFit> fit_resolution(const std::vector<ResolutionPoint>& points) {
  std::vector<ResolutionPoint> known;
  for (const ResolutionPoint& point : points)
    if (point.energy_gev > 0 && point.resolution > 0 && point.error > 0 &&
        std::isfinite(point.resolution / point.error))
      known.push_back(point);
  if (known.size() < kPointsMin) return std::nullopt;
  std::vector<double> expected;
  for (const ResolutionPoint& point : known) expected.push_back(point.resolution);
  std::optional<ResolutionFit> fit;
  for (int round = 0; round < kWeightings; ++round) {
    const std::optional<Solution> best = best_of(known, expected);
    if (!best) return fit;
    const auto term = [&](size_t i) -> Term {
      const double value = std::sqrt(best->squares[i]);
      return {value, value > 0 ? best->errors[i] / (2 * value) : 0};
    };
    fit = {term(0), term(1), term(2), best->chi2, static_cast<int>(known.size()) - best->terms};
    for (size_t i = 0; i < known.size(); ++i) expected[i] = fit->at(known[i].energy_gev);
  }
  return fit;
}

}  // namespace linac::physics
