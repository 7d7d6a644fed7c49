#include "linac/control/tune/forest.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <span>

#include "linac/control/tune/draws.h"
#include "linac/control/tune/pareto.h"

namespace linac::tune {
namespace {

constexpr uint32_t kUse = 13;
constexpr int kTrees = 64, kDepthMax = 64;
constexpr size_t kTrialsMin = 4, kTrialsMax = 2000;

/// The variance of a function that is constant between edges, which are in order: of the widths' shares.
double variance_of(std::span<const double> edges, std::span<const double> values, double mean) {
  double sum = 0;
  for (size_t i = 0; i + 1 < edges.size(); ++i) sum += (edges[i + 1] - edges[i]) * std::pow(values[i] - mean, 2);
  return sum;
}

}  // namespace

double Forest::Leaf::volume() const {
  double volume = 1;
  for (size_t d = 0; d < low.size(); ++d) volume *= high[d] - low[d];
  return volume;
}

// One tree: halves a box where the squares of the differences from the two means fall most.
struct Forest::Growing {
  const std::vector<std::vector<double>>& x;
  const std::vector<double>& y;
  Tree tree;

  struct Split {
    double gain = 0, at = 0;
    size_t dimension = 0;
  };

  Split best_split(std::span<size_t> rows) const {
    double total = 0;
    for (const size_t row : rows) total += y[row];
    const auto count = static_cast<double>(rows.size());
    Split best{.gain = total * total / count * (1 + 1e-12), .at = 0, .dimension = x[0].size()};
    std::vector<size_t> sorted(rows.begin(), rows.end());
    for (size_t d = 0; d < x[0].size(); ++d) {
      std::sort(sorted.begin(), sorted.end(), [&](size_t a, size_t b) { return x[a][d] < x[b][d]; });
      double left = 0;
      for (size_t i = 0; i + 1 < sorted.size(); ++i) {
        left += y[sorted[i]];
        const double here = x[sorted[i]][d], next = x[sorted[i + 1]][d];
        if (!(here < next)) continue;
        const auto before = static_cast<double>(i + 1);
        const double gain = left * left / before + (total - left) * (total - left) / (count - before);
        if (gain > best.gain) best = {gain, 0.5 * (here + next), d};
      }
    }
    return best;
  }

  void grow(std::span<size_t> rows, std::vector<double> low, std::vector<double> high, int depth) {
    const Split split = best_split(rows);
    if (split.dimension == x[0].size() || depth == kDepthMax) {
      double sum = 0;
      for (const size_t row : rows) sum += y[row];
      tree.push_back({std::move(low), std::move(high), sum / static_cast<double>(rows.size())});
      return;
    }
    const auto middle =
        std::partition(rows.begin(), rows.end(), [&](size_t row) { return x[row][split.dimension] < split.at; });
    const auto count = static_cast<size_t>(middle - rows.begin());
    std::vector<double> upper = high, lower = low;
    upper[split.dimension] = lower[split.dimension] = split.at;
    grow(rows.first(count), std::move(low), std::move(upper), depth + 1);
    grow(rows.subspan(count), std::move(lower), std::move(high), depth + 1);
  }
};

Forest::Forest(const History& history, size_t objective, uint64_t seed) : dimensions_(history.space().size()) {
  std::vector<std::vector<double>> x;
  std::vector<Losses> losses;
  const size_t count = history.complete_count(), kept = std::min(count, kTrialsMax);
  size_t seen = 0;
  for (const size_t place : history.told()) {
    const Trial& trial = history.trials()[place];
    if (trial.state != State::kComplete) continue;
    if (x.size() * count <= seen++ * kept) {
      x.push_back(trial.unit);
      losses.push_back({trial.losses[objective]});
    }
  }
  if (x.size() < kTrialsMin) return;
  std::vector<double> y;
  for (const Losses& row : scaled(losses)) y.push_back(row[0]);
  const auto [least, most] = std::minmax_element(losses.begin(), losses.end());
  least_ = least->front(), most_ = most->front();
  for (int i = 0; i < kTrees; ++i) {
    Draws draws({.seed = seed, .number = i}, kUse);
    std::vector<size_t> rows(x.size());
    for (size_t& row : rows) row = draws.below(x.size());  // with repetitions
    Growing growing{x, y, {}};
    growing.grow(rows, std::vector<double>(dimensions_, 0), std::vector<double>(dimensions_, 1), 0);
    trees_.push_back(std::move(growing.tree));
  }
}

std::vector<double> Forest::importance() const {
  std::vector<double> shares(dimensions_, 0);
  for (const Tree& tree : trees_) {
    double mean = 0, total = 0;
    for (const Leaf& leaf : tree) mean += leaf.volume() * leaf.value;
    for (const Leaf& leaf : tree) total += leaf.volume() * std::pow(leaf.value - mean, 2);
    if (!(total > 0)) continue;
    for (size_t d = 0; d < dimensions_; ++d) {
      std::vector<double> edges{0, 1};
      for (const Leaf& leaf : tree) edges.push_back(leaf.low[d]);
      std::sort(edges.begin(), edges.end());
      edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
      // Each leaf adds the same along its side: a step up at one edge and down at the other, added up afterwards.
      std::vector<double> values(edges.size(), 0);
      const auto place = [&](double edge) {
        return std::lower_bound(edges.begin(), edges.end(), edge) - edges.begin();
      };
      for (const Leaf& leaf : tree) {
        const double part = leaf.value * leaf.volume() / (leaf.high[d] - leaf.low[d]);
        values[static_cast<size_t>(place(leaf.low[d]))] += part;
        values[static_cast<size_t>(place(leaf.high[d]))] -= part;
      }
      std::partial_sum(values.begin(), values.end(), values.begin());
      shares[d] += variance_of(edges, values, mean) / total;
    }
  }
  const double sum = std::accumulate(shares.begin(), shares.end(), 0.0);
  if (sum > 0)
    for (double& share : shares) share /= sum;
  return shares;
}

std::vector<double> Forest::map(size_t x, size_t y, size_t cells) const {
  std::vector<double> values(cells * cells, 0);
  const auto centre = [&](size_t cell) { return (static_cast<double>(cell) + 0.5) / static_cast<double>(cells); };
  for (const Tree& tree : trees_)
    for (const Leaf& leaf : tree) {
      const double sides = (leaf.high[x] - leaf.low[x]) * (leaf.high[y] - leaf.low[y]);
      const double part = leaf.value * leaf.volume() / sides / static_cast<double>(trees_.size());
      for (size_t row = 0; row < cells; ++row) {
        if (centre(row) < leaf.low[y] || centre(row) >= leaf.high[y]) continue;
        for (size_t column = 0; column < cells; ++column)
          if (centre(column) >= leaf.low[x] && centre(column) < leaf.high[x]) values[row * cells + column] += part;
      }
    }
  for (double& value : values) value = least_ * (1 - value) + most_ * value;
  return values;
}

}  // namespace linac::tune
