#include "linac/control/tune/samplers/cma_state.h"

#include <Eigen/Eigenvalues>
#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/control/tune/normal.h"
#include "linac/control/tune/samplers/sobol_sequence.h"

namespace linac::tune {
namespace {

constexpr double kFirstStep = 0.12;  // of the edge of the cube
constexpr double kChoiceRate = 0.3;  // how far the chances of choices move in a generation
constexpr uint32_t kUseImputed = 4, kUseRestart = 5, kUseDraw = 6;
constexpr uint32_t kSequence = 1;  // of the Sobol sequences of a seed
constexpr int kInsideTries = 100;  // draws until one lies in the cube; then it is moved to its edge
constexpr double kStepLeast = 1e-10;
constexpr double kConditionMost = 1e14;
constexpr int64_t kFlatMost = 8;  // generations whose losses are all equal
constexpr double kChoiceLeast = 0.05;

// A normal point from a Sobol sequence: the trials of a generation lie around the mean more evenly than random ones do,
// which makes its update less noisy (Teytaud and Gelly, "DCMA: yet another derandomization in covariance-matrix-
// adaptation", GECCO 2007).
Eigen::VectorXd quasi_normal(const Ask& ask, Eigen::Index dimensions) {
  const uint64_t index = (static_cast<uint64_t>(ask.number) + (static_cast<uint64_t>(ask.attempt) << 20)) & 0x7FFFFFFFU;
  const std::vector<double> unit = sobol_point(ask.seed, index, static_cast<size_t>(dimensions), kSequence);
  Eigen::VectorXd z(dimensions);
  for (Eigen::Index i = 0; i < dimensions; ++i) z(i) = normal_quantile(unit[static_cast<size_t>(i)]);
  return z;
}

}  // namespace

CmaState::CmaState(const Space& space, uint64_t seed, size_t startup) : seed_(seed), startup_(startup) {
  for (size_t i = 0; i < space.size(); ++i) {
    if (space[i].categorical()) {
      categoricals_.push_back(i);
      const auto cells = static_cast<size_t>(space[i].cells);
      chances_.emplace_back(cells, 1 / static_cast<double>(cells));
    } else {
      numbers_.push_back(i);
      cell_widths_.push_back(space[i].discrete() ? 1 / static_cast<double>(space[i].cells) : 0);
    }
  }
  const auto d = static_cast<double>(std::max<size_t>(numbers_.size(), 1));
  population_ = static_cast<size_t>(4 + std::floor(3 * std::log(d)));
}

CmaState::Told CmaState::told_of(const Trial& trial) const {
  Told told{std::numeric_limits<double>::infinity(), trial.number, Eigen::VectorXd(numbers_.size()), {}};
  if (trial.state == State::kComplete)
    told.loss = trial.losses[0];
  else if (trial.state == State::kPruned && !trial.curve.empty())
    told.loss = trial.curve.back().second;
  // An inactive number is drawn from the distribution itself: its trial says nothing about it.
  Draws draws({.seed = seed_, .number = trial.number}, kUseImputed);
  for (size_t i = 0; i < numbers_.size(); ++i) {
    const double normal = draws.normal();
    if (!std::isnan(trial.point[numbers_[i]]))
      told.x(static_cast<Eigen::Index>(i)) = trial.unit[numbers_[i]];
    else if (begun_)
      told.x(static_cast<Eigen::Index>(i)) =
          mean_(static_cast<Eigen::Index>(i)) +
          step_ * std::sqrt(covariance_(static_cast<Eigen::Index>(i), static_cast<Eigen::Index>(i))) * normal;
    else
      told.x(static_cast<Eigen::Index>(i)) = 0.5;
  }
  for (const size_t parameter : categoricals_)
    told.choices.push_back(std::isnan(trial.point[parameter]) ? -1 : static_cast<int>(trial.point[parameter]));
  return told;
}

void CmaState::add(const Trial& trial) {
  if (trial.state == State::kFailed) return;
  generation_.push_back(told_of(trial));
  if (generation_.size() < (begun_ ? population_ : startup_)) return;
  std::stable_sort(generation_.begin(), generation_.end(),
                   [](const Told& one, const Told& other) { return one.loss < other.loss; });
  if (!begun_) {
    move_choices({generation_.data(), (generation_.size() + 2) / 3}, kChoiceRate);
    begin(mean_of_better_half(), kFirstStep);
  } else {
    update();
    if (converged()) restart();
  }
  generation_.clear();
}

// As a generation's mean moves, so a good region counts for more than a lucky point.
Eigen::VectorXd CmaState::mean_of_better_half() const {
  const size_t half = std::max<size_t>(generation_.size() / 2, 1);
  Eigen::VectorXd mean = Eigen::VectorXd::Zero(generation_.front().x.size());
  double sum = 0;
  for (size_t i = 0; i < half; ++i) {
    const double weight = std::log(static_cast<double>(half + 1)) - std::log(static_cast<double>(i + 1));
    mean += weight * generation_[i].x;
    sum += weight;
  }
  return mean / sum;
}

void CmaState::begin(const Eigen::VectorXd& mean, double step) {
  begun_ = true;
  const auto d = static_cast<Eigen::Index>(numbers_.size());
  mean_ = mean;
  step_ = step;
  path_ = path_step_ = Eigen::VectorXd::Zero(d);
  covariance_ = Eigen::MatrixXd::Identity(d, d);
  generations_ = flat_ = 0;
  set_weights();
  decompose();
}

// Table 1 of the tutorial.
void CmaState::set_weights() {
  const auto d = static_cast<double>(std::max<size_t>(numbers_.size(), 1));
  const auto lambda = static_cast<double>(population_);
  const size_t half = population_ / 2;
  std::vector<double> raw(population_);
  for (size_t i = 0; i < population_; ++i) raw[i] = std::log((lambda + 1) / 2) - std::log(static_cast<double>(i + 1));
  double positive = 0, positive_squares = 0, negative = 0, negative_squares = 0;
  for (size_t i = 0; i < population_; ++i) {
    (i < half ? positive : negative) += raw[i];
    (i < half ? positive_squares : negative_squares) += raw[i] * raw[i];
  }
  effective_ = positive * positive / positive_squares;
  const double effective_negative = negative * negative / negative_squares;
  rate_path_ = (4 + effective_ / d) / (d + 4 + 2 * effective_ / d);
  rate_step_ = (effective_ + 2) / (d + effective_ + 5);
  rate_one_ = 2 / ((d + 1.3) * (d + 1.3) + effective_);
  rate_mu_ = std::min(1 - rate_one_, 2 * (0.25 + effective_ + 1 / effective_ - 2) / ((d + 2) * (d + 2) + effective_));
  damping_ = 1 + 2 * std::max(0.0, std::sqrt((effective_ - 1) / (d + 1)) - 1) + rate_step_;
  const double most = std::min({1 + rate_one_ / rate_mu_, 1 + 2 * effective_negative / (effective_ + 2),
                                (1 - rate_one_ - rate_mu_) / (d * rate_mu_)});
  weights_.clear();
  for (size_t i = 0; i < population_; ++i) weights_.push_back(i < half ? raw[i] / positive : raw[i] * most / -negative);
}

void CmaState::update() {
  const auto d = static_cast<Eigen::Index>(numbers_.size());
  const auto dimensions = static_cast<double>(d);
  if (!categoricals_.empty()) move_choices({generation_.data(), population_ / 2}, kChoiceRate);
  flat_ = generation_.front().loss == generation_.back().loss ? flat_ + 1 : 0;
  ++generations_;
  if (d == 0) return;
  const double longest = std::sqrt(dimensions) + 2 * dimensions / (dimensions + 2);
  const double normal_length = std::sqrt(dimensions) * (1 - 1 / (4 * dimensions) + 1 / (21 * dimensions * dimensions));
  Eigen::VectorXd moved = Eigen::VectorXd::Zero(d);
  Eigen::MatrixXd spread = Eigen::MatrixXd::Zero(d, d);
  double weight_sum = 0;
  for (size_t i = 0; i < population_; ++i) {
    Eigen::VectorXd y = (generation_[i].x - mean_) / step_;
    const double length = (axes_.transpose() * y).cwiseQuotient(lengths_).norm();
    if (length > longest) y *= longest / length;
    double weight = weights_[i];
    if (weight > 0) moved += weight * y;
    // Of negative weights a step counts as if it had the usual length, or the matrix could lose its definiteness.
    if (weight < 0) weight *= dimensions / std::max(std::pow(std::min(length, longest), 2), 1e-12);
    if (weight < 0 && length < 1e-6) weight = 0;
    spread += weight * (y * y.transpose());
    weight_sum += weights_[i];
  }
  mean_ = (mean_ + step_ * moved).cwiseMax(0).cwiseMin(1);
  const Eigen::VectorXd whitened = axes_ * (axes_.transpose() * moved).cwiseQuotient(lengths_);
  path_step_ = (1 - rate_step_) * path_step_ + std::sqrt(rate_step_ * (2 - rate_step_) * effective_) * whitened;
  const double forgotten = 1 - std::pow(1 - rate_step_, 2 * static_cast<double>(generations_));
  const bool steady = path_step_.norm() / std::sqrt(forgotten) < (1.4 + 2 / (dimensions + 1)) * normal_length;
  path_ = (1 - rate_path_) * path_;
  if (steady) path_ += std::sqrt(rate_path_ * (2 - rate_path_) * effective_) * moved;
  const double lost = steady ? 0 : rate_path_ * (2 - rate_path_);
  covariance_ = (1 + rate_one_ * lost - rate_one_ - rate_mu_ * weight_sum) * covariance_ +
                rate_one_ * (path_ * path_.transpose()) + rate_mu_ * spread;
  step_ =
      std::min(step_ * std::exp(std::min(1.0, rate_step_ / damping_ * (path_step_.norm() / normal_length - 1))), 1.0);
  decompose();
}

void CmaState::decompose() {
  if (numbers_.empty()) return;
  covariance_ = (0.5 * (covariance_ + covariance_.transpose())).eval();
  const Eigen::SelfAdjointEigenSolver<Eigen::MatrixXd> solver(covariance_);
  axes_ = solver.eigenvectors();
  lengths_ = solver.eigenvalues().cwiseMax(1e-20).cwiseSqrt();
}

void CmaState::move_choices(std::span<const Told> best, double rate) {
  for (size_t c = 0; c < categoricals_.size(); ++c) {
    std::vector<double>& chances = chances_[c];
    std::vector<double> found(chances.size(), 0);
    double sum = 0;
    for (size_t i = 0; i < best.size(); ++i) {
      if (best[i].choices[c] < 0) continue;
      const double weight = std::log(static_cast<double>(best.size()) + 1) - std::log(static_cast<double>(i + 1));
      found[static_cast<size_t>(best[i].choices[c])] += weight;
      sum += weight;
    }
    if (sum == 0) continue;
    double whole = 0;
    for (size_t k = 0; k < chances.size(); ++k) {
      chances[k] += rate * (found[k] / sum - chances[k]);
      chances[k] = std::max(chances[k], kChoiceLeast / static_cast<double>(chances.size()));
      whole += chances[k];
    }
    for (double& chance : chances) chance /= whole;
  }
}

bool CmaState::converged() const {
  if (flat_ >= kFlatMost) return true;
  if (numbers_.empty()) return false;
  return step_ * lengths_.maxCoeff() < kStepLeast ||
         std::pow(lengths_.maxCoeff() / lengths_.minCoeff(), 2) > kConditionMost;
}

void CmaState::restart() {
  ++restarts_;
  population_ *= 2;
  Draws draws({.seed = seed_, .number = restarts_}, kUseRestart);
  Eigen::VectorXd mean(static_cast<Eigen::Index>(numbers_.size()));
  for (Eigen::Index i = 0; i < mean.size(); ++i) mean(i) = draws.uniform();
  for (auto& chances : chances_) chances.assign(chances.size(), 1 / static_cast<double>(chances.size()));
  begin(mean, kFirstStep);
}

std::vector<double> CmaState::draw(const Space& space, const Ask& ask) const {
  Draws draws(ask, kUseDraw);
  std::vector<double> unit(space.size(), 0.5);
  for (size_t c = 0; c < categoricals_.size(); ++c) {
    double left = draws.uniform();
    size_t choice = 0;
    while (choice + 1 < chances_[c].size() && (left -= chances_[c][choice]) >= 0) ++choice;
    unit[categoricals_[c]] = (static_cast<double>(choice) + 0.5) / static_cast<double>(chances_[c].size());
  }
  const auto d = static_cast<Eigen::Index>(numbers_.size());
  if (d == 0) return unit;
  const double chance = 1 / (static_cast<double>(d) * static_cast<double>(population_));
  Eigen::VectorXd widened = Eigen::VectorXd::Ones(d);
  for (Eigen::Index i = 0; i < d; ++i) {
    const double width = cell_widths_[static_cast<size_t>(i)];
    if (width == 0) continue;
    const double place = mean_(i) / width;
    const double low = place - std::floor(place), nearest = std::min(low, 1 - low) * width;
    const double wanted = std::max(nearest, 0.05 * width) / -normal_quantile(chance / 2);
    widened(i) = std::max(1.0, wanted / (step_ * std::sqrt(covariance_(i, i))));
  }
  Eigen::VectorXd x(d);
  for (int tries = 0; tries < kInsideTries; ++tries) {
    Eigen::VectorXd z(d);
    if (tries == 0)
      z = quasi_normal(ask, d);
    else
      for (double& one : z) one = draws.normal();
    x = mean_ + step_ * widened.cwiseProduct(axes_ * lengths_.cwiseProduct(z));
    if (x.minCoeff() >= 0 && x.maxCoeff() <= 1) break;
  }
  for (Eigen::Index i = 0; i < d; ++i) unit[numbers_[static_cast<size_t>(i)]] = std::clamp(x(i), 0.0, 1.0);
  return unit;
}

}  // namespace linac::tune
