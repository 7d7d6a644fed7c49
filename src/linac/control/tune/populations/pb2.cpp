#include <Eigen/Cholesky>
#include <Eigen/Core>
#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/control/tune/populations/populations.h"
#include "linac/control/tune/sampler.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

constexpr uint32_t kUse = 21;
constexpr size_t kCandidates = 1000;
constexpr size_t kRemembered = 200;  // intervals, the latest ones: a decomposition is cheap, and older ones say little
constexpr size_t kIntervalsLeast = 4;
constexpr double kLengths[] = {0.1, 0.2, 0.4, 0.8, 1.6};  // edges of the cube
constexpr double kForgets[] = {0, 0.05, 0.1, 0.2, 0.4};   // omega of the paper's eq. 6
constexpr double kNoises[] = {1e-3, 1e-2, 1e-1};          // of standardised gains
constexpr double kBoundOffset = 0.2, kBoundGrowth = 0.4;  // beta = 0.2 + log(0.4 t), where that is more: its appendix
const double kSqrt5 = std::sqrt(5.0);

struct Interval {
  std::vector<double> unit;
  double generation;
};

struct Model {
  double length = 0.4, forget = 0.1, noise = 1e-2;
};

// Matern 5/2 over the settings, times what is left of it after the time between.
double covariance(const Space& space, const Model& model, const Interval& one, const Interval& other) {
  double square = 0;
  for (size_t i = 0; i < one.unit.size(); ++i) {
    const double apart = one.unit[i] - other.unit[i];
    square += space[i].categorical() ? (apart != 0 ? 1.0 : 0.0) : apart * apart;
  }
  const double r = kSqrt5 * std::sqrt(square) / model.length;
  return (1 + r + r * r / 3) * std::exp(-r) *
         std::pow(1 - model.forget, 0.5 * std::abs(one.generation - other.generation));
}

MatrixXd covariance(const Space& space, const Model& model, const std::vector<Interval>& all) {
  const auto n = static_cast<Index>(all.size());
  MatrixXd matrix(n, n);
  for (Index i = 0; i < n; ++i)
    for (Index j = 0; j <= i; ++j)
      matrix(i, j) = matrix(j, i) = covariance(space, model, all[static_cast<size_t>(i)], all[static_cast<size_t>(j)]);
  matrix.diagonal().array() += model.noise;
  return matrix;
}

// Of few candidates the one under which the gains are most likely: the same on every call, and never stuck.
Model fitted(const Space& space, const std::vector<Interval>& seen, const VectorXd& gains) {
  Model best;
  double best_likelihood = -std::numeric_limits<double>::infinity();
  for (const double length : kLengths)
    for (const double forget : kForgets)
      for (const double noise : kNoises) {
        const Model model{length, forget, noise};
        const Eigen::LLT<MatrixXd> cholesky(covariance(space, model, seen));
        if (cholesky.info() != Eigen::Success) continue;
        const double likelihood =
            -0.5 * gains.dot(cholesky.solve(gains)) - cholesky.matrixLLT().diagonal().array().log().sum();
        if (likelihood > best_likelihood) best = model, best_likelihood = likelihood;
      }
  return best;
}

// What each interval before this generation gained.
std::vector<Interval> seen_before(const Exploring& now, const Population& population, int64_t generation,
                                  std::vector<double>& gains) {
  std::vector<Interval> seen;
  const auto trials = now.history.trials();
  for (size_t i = trials.size(); i-- > 0 && seen.size() < kRemembered;) {
    const Trial& trial = trials[i];
    if (trial.state != State::kComplete || trial.parent == 0 || population.generation_of(trial.number) >= generation)
      continue;
    const double gain = loss_at_end(*now.history.find(trial.parent)) - loss_at_end(trial);
    if (!std::isfinite(gain)) continue;
    seen.push_back({trial.unit, static_cast<double>(population.generation_of(trial.number))});
    gains.push_back(gain);
  }
  return seen;
}

VectorXd standardised(const std::vector<double>& values) {
  VectorXd result = VectorXd::Map(values.data(), static_cast<Index>(values.size()));
  result /=
      std::max(result.cwiseAbs().maxCoeff(), std::numeric_limits<double>::min());  // their squares do not overflow
  result.array() -= result.mean();
  const double deviation = std::sqrt(result.squaredNorm() / static_cast<double>(result.size()));
  return deviation > 0 ? VectorXd(result / deviation) : result;
}

}  // namespace

Point explore_pb2(const Exploring& now) {
  const Space& space = now.history.space();
  const Population population(now.settings);
  const int64_t generation = population.generation_of(now.ask.number);
  Draws draws(now.ask, kUse);
  std::vector<double> gained;
  std::vector<Interval> seen = seen_before(now, population, generation, gained);
  if (seen.size() < kIntervalsLeast) return random_point(space, draws);
  const VectorXd gains = standardised(gained);
  const Model model = fitted(space, seen, gains);
  const VectorXd weights = covariance(space, model, seen).llt().solve(gains);
  // What others of this generation try narrows the bound there, and says nothing of the mean.
  const auto told = static_cast<Index>(seen.size());
  for (const Trial& trial : now.history.trials())
    if (population.generation_of(trial.number) == generation && trial.number < now.ask.number)
      seen.push_back({trial.unit, static_cast<double>(generation)});
  const Eigen::LLT<MatrixXd> cholesky(covariance(space, model, seen));
  const double width =
      std::sqrt(kBoundOffset + std::max(0.0, std::log(kBoundGrowth * static_cast<double>(generation + 1))));
  Point best;
  double best_bound = -std::numeric_limits<double>::infinity();
  for (size_t i = 0; i < kCandidates; ++i) {
    Point point = random_point(space, draws);
    if (!space.allows(point)) continue;
    const Interval candidate{space.unit_of(point), static_cast<double>(generation)};
    VectorXd k(static_cast<Index>(seen.size()));
    for (Index j = 0; j < k.size(); ++j) k(j) = covariance(space, model, seen[static_cast<size_t>(j)], candidate);
    const double mean = k.head(told).dot(weights);
    const double deviation = std::sqrt(std::max(0.0, 1 - cholesky.matrixL().solve(k).squaredNorm()));
    if (mean + width * deviation <= best_bound) continue;
    best_bound = mean + width * deviation;
    best = std::move(point);
  }
  return best.empty() ? random_point(space, draws) : best;
}

}  // namespace linac::tune
