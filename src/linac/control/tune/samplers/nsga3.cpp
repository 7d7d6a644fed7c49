// NSGA-III (Deb and Jain, IEEE Trans. Evol. Comput. 18, 2014): as NSGA-II keeps the best fronts, but what of the last
// one stays is chosen by directions that cover the space of losses evenly, which goes on to tell points apart where
// nearly all of three and more losses are in one front. With a steady state, as nsga2.cpp: the population follows from
// all that was told.

#include <Eigen/Core>
#include <Eigen/LU>
#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/control/tune/pareto.h"
#include "linac/control/tune/samplers/genetic.h"
#include "linac/control/tune/samplers/samplers.h"

namespace linac::tune {
namespace {

using Eigen::Index, Eigen::MatrixXd, Eigen::VectorXd;

constexpr uint32_t kUse = 14, kUseOfNiches = 15;
constexpr size_t kDirectionsMax = 36;      // trainings are too dear for a population that fills more
constexpr double kAxisWeight = 1e-6;       // eq. 4: an extreme point is far along one loss, and hardly along the others
constexpr double kInterceptLeast = 1e-12;  // of the range

void add_directions(std::vector<VectorXd>& all, VectorXd& parts, Index axis, int left, int divisions) {
  if (axis + 1 == parts.size()) {
    parts(axis) = left;
    all.push_back(parts / divisions);
    return;
  }
  for (int part = 0; part <= left; ++part) {
    parts(axis) = part;
    add_directions(all, parts, axis + 1, left - part, divisions);
  }
}

/// Points of the simplex with equal divisions (Das and Dennis, SIAM J. Optim. 8, 1998), as many divisions as give no
/// more than kDirectionsMax.
std::vector<VectorXd> directions_of(size_t losses) {
  if (losses == 1) return {VectorXd::Ones(1)};
  std::vector<VectorXd> best;
  for (int divisions = 1;; ++divisions) {
    std::vector<VectorXd> all;
    VectorXd parts(static_cast<Index>(losses));
    add_directions(all, parts, 0, divisions, divisions);
    if (all.size() > kDirectionsMax && !best.empty()) return best;
    best = std::move(all);
  }
}

/// Losses as shares of the way from the best of each to where the hyperplane through the extreme points meets its axis;
/// the range takes its place where they span none. `rows`: scaled to 0 ... 1, so that no square overflows.
MatrixXd normalised(const std::vector<Losses>& rows) {
  const auto n = static_cast<Index>(rows.size()), m = static_cast<Index>(rows[0].size());
  MatrixXd all(n, m);
  for (Index i = 0; i < n; ++i) all.row(i) = VectorXd::Map(rows[static_cast<size_t>(i)].data(), m);
  all.rowwise() -= all.colwise().minCoeff();
  MatrixXd extremes(m, m);
  for (Index axis = 0; axis < m; ++axis) {
    Index extreme = 0;
    double least = std::numeric_limits<double>::infinity();
    for (Index i = 0; i < n; ++i) {
      double most = 0;
      for (Index k = 0; k < m; ++k) most = std::max(most, all(i, k) / (k == axis ? 1 : kAxisWeight));
      if (most < least) least = most, extreme = i;
    }
    extremes.row(axis) = all.row(extreme);
  }
  VectorXd ranges = all.colwise().maxCoeff();
  const Eigen::FullPivLU<MatrixXd> plane(extremes);
  if (plane.isInvertible()) {
    const VectorXd inverse = plane.solve(VectorXd::Ones(m));
    const VectorXd intercepts = inverse.cwiseInverse();
    if (intercepts.allFinite() && intercepts.minCoeff() > kInterceptLeast) ranges = intercepts;
  }
  for (Index k = 0; k < m; ++k)
    if (ranges(k) > 0) all.col(k) /= ranges(k);
  return all;
}

struct Niche {
  size_t direction = 0;
  double distance = 0;  // from its line
};

std::vector<Niche> niches_of(const MatrixXd& points, const std::vector<VectorXd>& directions) {
  std::vector<Niche> niches(static_cast<size_t>(points.rows()));
  for (size_t i = 0; i < niches.size(); ++i) {
    const VectorXd point = points.row(static_cast<Index>(i));
    niches[i].distance = std::numeric_limits<double>::infinity();
    for (size_t k = 0; k < directions.size(); ++k) {
      const VectorXd& direction = directions[k];
      const double along = point.dot(direction) / direction.squaredNorm();
      if (const double distance = (point - along * direction).norm(); distance < niches[i].distance)
        niches[i] = {k, distance};
    }
  }
  return niches;
}

/// Some of the last front, one after the other: of a direction with the fewest members the nearest if it has none yet,
/// else any. Those before `first` are members already.
std::vector<size_t> niched(const std::vector<Niche>& niches, size_t first, size_t wanted, size_t directions,
                           Draws& draws) {
  std::vector<size_t> counts(directions), chosen;
  for (size_t i = 0; i < first; ++i) ++counts[niches[i].direction];
  std::vector<std::vector<size_t>> waiting(directions);
  for (size_t i = first; i < niches.size(); ++i) waiting[niches[i].direction].push_back(i);
  while (chosen.size() < wanted) {
    std::vector<size_t> least;
    for (size_t k = 0; k < directions; ++k) {
      if (waiting[k].empty()) continue;
      if (!least.empty() && counts[k] < counts[least[0]]) least.clear();
      if (least.empty() || counts[k] == counts[least[0]]) least.push_back(k);
    }
    const size_t direction = least[draws.below(least.size())];
    std::vector<size_t>& of = waiting[direction];
    const auto nearest = std::min_element(of.begin(), of.end(),
                                          [&](size_t a, size_t b) { return niches[a].distance < niches[b].distance; });
    const auto one =
        counts[direction] == 0 ? nearest : of.begin() + static_cast<std::ptrdiff_t>(draws.below(of.size()));
    chosen.push_back(*one);
    of.erase(one);
    ++counts[direction];
  }
  return chosen;
}

std::vector<const Trial*> population_of(const History& history, const std::vector<VectorXd>& directions, Draws& draws) {
  const CompleteTrials complete(history);
  const std::vector<const Trial*>& trials = complete.trials;
  const std::vector<Losses>& rows = complete.losses;
  const size_t size = std::min(std::max(directions.size(), GeneticSampler::kPopulation), trials.size());
  const std::vector<size_t> fronts = fronts_of(rows);
  std::vector<size_t> order(trials.size());
  for (size_t i = 0; i < order.size(); ++i) order[i] = i;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return fronts[a] < fronts[b]; });
  const size_t last = fronts[order[size - 1]];
  const auto begins = [&](size_t front) {
    return static_cast<size_t>(std::find_if(order.begin(), order.end(), [&](size_t i) { return fronts[i] >= front; }) -
                               order.begin());
  };
  const size_t first = begins(last), end = begins(last + 1);
  std::vector<Losses> considered;
  for (size_t i = 0; i < end; ++i) considered.push_back(rows[order[i]]);
  std::vector<const Trial*> population;
  for (size_t i = 0; i < first; ++i) population.push_back(trials[order[i]]);
  const std::vector<Niche> niches = niches_of(normalised(scaled(considered)), directions);
  for (const size_t i : niched(niches, first, size - first, directions.size(), draws))
    population.push_back(trials[order[i]]);
  return population;
}

class Nsga3 : public GeneticSampler {
 public:
  explicit Nsga3(const SamplerSettings& settings) : GeneticSampler(settings, kUse) {}

 private:
  std::pair<const Trial*, const Trial*> parents(const History& history, const Ask& ask, Draws& draws) const override {
    Draws niches(ask, kUseOfNiches);
    const std::vector<const Trial*> population = population_of(history, directions_of(history.objectives()), niches);
    // The earlier of two: a better front, or a place that few have. The paper picks any; where a study has hundreds of
    // trials and not ten thousands this gets nearer to the front.
    const auto picked = [&] {
      const size_t a = draws.below(population.size()), b = draws.below(population.size());
      return population[std::min(a, b)];
    };
    const Trial* const one = picked();
    return {one, picked()};
  }
};

}  // namespace

std::unique_ptr<Sampler> make_nsga3(const SamplerSettings& settings) {
  return std::make_unique<Nsga3>(settings);
}

}  // namespace linac::tune
