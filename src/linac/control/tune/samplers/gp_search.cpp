#include "linac/control/tune/samplers/gp_search.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/control/tune/samplers/gp_data.h"
#include "linac/control/tune/samplers/minimize.h"
#include "linac/control/tune/samplers/ranking.h"
#include "linac/control/tune/samplers/sobol_sequence.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

constexpr uint32_t kUse = 7;
constexpr uint32_t kSequence = 2;           // of the Sobol sequences of a seed
constexpr size_t kEven = 256, kNear = 128;  // points that are compared
constexpr size_t kStarts = 6;               // of them are improved
constexpr int kIterationsMax = 40;
constexpr int64_t kCellsAllTried = 16;  // more values: neighbours alone
constexpr int kSweepsMax = 3;

struct Candidate {
  std::vector<double> unit;
  double value = 0;   // of the acquisition
  bool even = false;  // drawn all over the cube, not around a trial
};

void add_spread(const std::vector<Candidate>& sorted, size_t most, double distance, bool even_alone,
                std::vector<Candidate>& chosen) {
  for (const Candidate& one : sorted) {
    if (chosen.size() >= most) return;
    if (even_alone && !one.even) continue;
    const bool near = std::any_of(chosen.begin(), chosen.end(), [&](const Candidate& other) {
      double largest = 0;
      for (size_t d = 0; d < one.unit.size(); ++d) largest = std::max(largest, std::abs(one.unit[d] - other.unit[d]));
      return largest <= distance;
    });
    if (!near) chosen.push_back(one);
  }
}

// The best ones that are not next to a better one, half of them from all over the cube: the best of those around
// trials lie together, and what is improved from them stays there.
std::vector<Candidate> spread(const std::vector<Candidate>& sorted) {
  std::vector<Candidate> chosen;
  add_spread(sorted, kStarts / 2, 0.1, true, chosen);
  add_spread(sorted, kStarts, 0.1, false, chosen);
  add_spread(sorted, kStarts, 0, false, chosen);
  return chosen;
}

std::vector<Candidate> starts(const History& history, const Acquisition& acquisition, const Ask& ask) {
  const Space& space = history.space();
  Draws draws(ask, kUse);
  std::vector<Candidate> all;
  const std::vector<double> even =
      sobol_points(ask.seed ^ (static_cast<uint64_t>(ask.number) * 0x9E3779B97F4A7C15U + ask.attempt), kEven,
                   space.size(), kSequence);
  for (size_t i = 0; i < kEven; ++i)
    all.push_back({{even.begin() + static_cast<std::ptrdiff_t>(i * space.size()),
                    even.begin() + static_cast<std::ptrdiff_t>((i + 1) * space.size())},
                   0,
                   true});
  const std::vector<size_t> order = ranked(history);
  for (size_t i = 0; i < kNear; ++i) {
    const Trial& trial = history.trials()[order[draws.below(std::min<size_t>(order.size(), 8))]];
    Candidate one{trial.unit, 0, false};
    const double reach = std::pow(10.0, -3 * draws.uniform());
    for (size_t d = 0; d < space.size(); ++d) {
      if (std::isnan(trial.point[d]) || (space[d].categorical() && draws.uniform() < 0.2))
        one.unit[d] = draws.uniform();
      else if (!space[d].categorical())
        one.unit[d] = std::clamp(one.unit[d] + reach * draws.normal() * 0.3, 0.0, 1.0);
    }
    all.push_back(std::move(one));
  }
  std::erase_if(all, [&](const Candidate& one) {
    const Point point = space.point_of(one.unit);
    return !space.allows(point) || history.seen(point);
  });
  MatrixXd x(static_cast<Index>(all.size()), static_cast<Index>(space.size()));
  for (size_t i = 0; i < all.size(); ++i)
    x.row(static_cast<Index>(i)) = features_of(space, space.point_of(all[i].unit), all[i].unit).transpose();
  VectorXd values;
  if (!all.empty()) values = acquisition.of_rows(x);
  for (size_t i = 0; i < all.size(); ++i) all[i].value = values(static_cast<Index>(i));
  std::stable_sort(all.begin(), all.end(),
                   [](const Candidate& one, const Candidate& other) { return one.value > other.value; });
  return spread(all);
}

double value_at(const Space& space, const Acquisition& acquisition, const std::vector<double>& unit) {
  return acquisition.at(features_of(space, space.point_of(unit), unit), nullptr);
}

void improve_numbers(const Space& space, const Acquisition& acquisition, Candidate& one) {
  const Point point = space.point_of(one.unit);
  std::vector<size_t> free;
  for (size_t d = 0; d < space.size(); ++d)
    if (!space[d].discrete() && !std::isnan(point[d])) free.push_back(d);
  if (free.empty()) return;
  const auto size = static_cast<Index>(free.size());
  VectorXd x = features_of(space, point, one.unit);
  VectorXd start(size);
  for (Index i = 0; i < size; ++i) start(i) = one.unit[free[static_cast<size_t>(i)]];
  const auto loss = [&](const VectorXd& values, VectorXd& gradient) {
    for (Index i = 0; i < size; ++i) x(static_cast<Index>(free[static_cast<size_t>(i)])) = values(i);
    VectorXd by_features;
    const double value = acquisition.at(x, &by_features);
    gradient.resize(size);
    for (Index i = 0; i < size; ++i) gradient(i) = -by_features(static_cast<Index>(free[static_cast<size_t>(i)]));
    return -value;
  };
  const Minimum found = minimize(loss, start, VectorXd::Zero(size), VectorXd::Ones(size), kIterationsMax);
  std::vector<double> unit = one.unit;
  for (Index i = 0; i < size; ++i) unit[free[static_cast<size_t>(i)]] = std::clamp(found.x(i), 0.0, 1.0);
  if (!space.allows(space.point_of(unit))) return;
  one.unit = std::move(unit);
  one.value = -found.value;
}

// Something was improved.
bool improve_cells(const Space& space, const Acquisition& acquisition, Candidate& one) {
  bool improved = false;
  for (size_t d = 0; d < space.size(); ++d) {
    if (!space[d].discrete() || std::isnan(space.point_of(one.unit)[d])) continue;
    const int64_t now = space[d].cell_of(one.unit[d]), cells = space[d].cells;
    const bool all = cells <= kCellsAllTried;
    for (int64_t cell = all ? 0 : std::max<int64_t>(now - 2, 0); cell < (all ? cells : std::min(now + 3, cells));
         ++cell) {
      if (cell == now) continue;
      Candidate other = one;
      other.unit[d] = (static_cast<double>(cell) + 0.5) / static_cast<double>(cells);
      if (!space.allows(space.point_of(other.unit))) continue;
      other.value = value_at(space, acquisition, other.unit);
      if (other.value > one.value) one = std::move(other), improved = true;
    }
  }
  return improved;
}

void improve(const Space& space, const Acquisition& acquisition, Candidate& one) {
  for (int sweep = 0; sweep < kSweepsMax; ++sweep) {
    improve_numbers(space, acquisition, one);
    if (!improve_cells(space, acquisition, one)) return;
  }
}

}  // namespace

std::optional<Point> best_point(const History& history, const Acquisition& acquisition, const Ask& ask) {
  const Space& space = history.space();
  std::vector<Candidate> candidates = starts(history, acquisition, ask);
  const Candidate* best = nullptr;
  for (Candidate& one : candidates) {
    improve(space, acquisition, one);
    const Point point = space.point_of(one.unit);
    if ((best == nullptr || one.value > best->value) && space.allows(point) && !history.seen(point)) best = &one;
  }
  if (best == nullptr) return std::nullopt;
  return space.point_of(best->unit);
}

}  // namespace linac::tune
