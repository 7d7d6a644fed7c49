#include "linac/control/tune/samplers/hypervolume_improvement.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "linac/control/tune/samplers/improvement.h"

namespace linac::tune {
namespace {

constexpr size_t kUnbounded = std::numeric_limits<size_t>::max();
constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBehind = 0.1;

std::vector<Losses> front_of(const std::vector<Losses>& rows) {
  const std::vector<size_t> fronts = fronts_of(rows);
  std::vector<Losses> front;
  for (size_t i = 0; i < rows.size(); ++i)
    if (fronts[i] == 0) front.push_back(rows[i]);
  return front;
}

/// n rows of m losses make (n + m - 1) over (m - 1) boxes at most.
size_t rows_most(size_t losses) {
  size_t rows = 1;
  const auto boxes = [&](size_t count) {
    double product = 1;
    for (size_t i = 1; i < losses; ++i) product *= static_cast<double>(count + i) / static_cast<double>(i);
    return product;
  };
  while (losses > 1 && boxes(rows + 1) <= static_cast<double>(HypervolumeImprovement::kBoxesMost)) ++rows;
  return rows;
}

/// The logarithm of a sum, and what share of it each term is.
double log_sum(std::vector<double>& terms) {
  double most = -kInfinity;
  for (const double term : terms) most = std::max(most, term);
  if (!(most > -kInfinity)) return -kInfinity;
  double sum = 0;
  for (double& term : terms) term = std::exp(term - most), sum += term;
  for (double& term : terms) term /= sum;
  return most + std::log(sum);
}

}  // namespace

Losses reference_of(const std::vector<Losses>& rows) {
  const std::vector<Losses> front = front_of(rows);
  Losses reference;
  for (size_t k = 0; k < rows[0].size(); ++k) {
    const auto less = [&](const Losses& one, const Losses& other) { return one[k] < other[k]; };
    const auto [low, high] = std::minmax_element(front.begin(), front.end(), less);
    const auto [least, most] = std::minmax_element(rows.begin(), rows.end(), less);
    double range = (*high)[k] - (*low)[k];
    if (!(range > 0)) range = (*most)[k] - (*least)[k];
    if (!(range > 0)) range = 1;
    reference.push_back((*high)[k] + kBehind * range);
  }
  return reference;
}

HypervolumeImprovement::HypervolumeImprovement(const std::vector<Losses>& rows, const Losses& reference)
    : losses_(reference.size()), edges_(losses_) {
  std::vector<Losses> front = front_of(rows);
  std::erase_if(front, [&](const Losses& row) {
    return !std::equal(row.begin(), row.end(), reference.begin(),
                       [](double loss, double bound) { return loss < bound; });
  });
  if (const size_t most = rows_most(losses_); front.size() > most) {
    std::vector<Losses> fewer;
    for (const size_t i : greedy_cover(front, most)) fewer.push_back(front[i]);
    front = std::move(fewer);
  }
  for (size_t k = 0; k < losses_; ++k) {
    for (const Losses& row : front) edges_[k].push_back(row[k]);
    std::sort(edges_[k].begin(), edges_[k].end());
    edges_[k].erase(std::unique(edges_[k].begin(), edges_[k].end()), edges_[k].end());
    edges_[k].push_back(reference[k]);
  }
  std::vector<const double*> all;
  for (const Losses& row : front) all.push_back(row.data());
  std::vector<Side> box(losses_);
  add_boxes(std::move(all), losses_ - 1, box);
}

size_t HypervolumeImprovement::edge_of(size_t loss, double value) const {
  return static_cast<size_t>(std::lower_bound(edges_[loss].begin(), edges_[loss].end(), value) - edges_[loss].begin());
}

// Between two values of the last loss only the rows below them bound what is free in the others.
void HypervolumeImprovement::add_boxes(std::vector<const double*> rows, size_t loss, std::vector<Side>& box) {
  const size_t behind = edges_[loss].size() - 1;
  if (loss == 0) {
    size_t high = behind;
    for (const double* row : rows) high = std::min(high, edge_of(0, row[0]));
    box[0] = {kUnbounded, high};
    boxes_.insert(boxes_.end(), box.begin(), box.end());
    return;
  }
  std::sort(rows.begin(), rows.end(), [&](const double* a, const double* b) { return a[loss] < b[loss]; });
  for (size_t i = 0; i <= rows.size(); ++i) {
    const size_t low = i == 0 ? kUnbounded : edge_of(loss, rows[i - 1][loss]);
    const size_t high = i == rows.size() ? behind : edge_of(loss, rows[i][loss]);
    if (low == high) continue;
    box[loss] = {low, high};
    add_boxes({rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(i)}, loss - 1, box);
  }
}

HypervolumeImprovement::At HypervolumeImprovement::at(std::span<const double> means,
                                                      std::span<const double> deviations) const {
  std::vector<std::vector<Improvement>> below(losses_);  // each edge
  for (size_t k = 0; k < losses_; ++k)
    for (const double edge : edges_[k]) below[k].push_back(log_improvement(edge, means[k], deviations[k]));
  const size_t count = boxes_.size() / losses_;
  std::vector<double> terms(count);
  // Of a side from a to b the expectation is what improves on b less what improves on a.
  const auto lost = [&](size_t k, const Side& side) {
    return side.low == kUnbounded ? 0 : std::exp(below[k][side.low].log_value - below[k][side.high].log_value);
  };
  for (size_t box = 0; box < count; ++box)
    for (size_t k = 0; k < losses_; ++k) {
      const Side& side = boxes_[box * losses_ + k];
      terms[box] += below[k][side.high].log_value + std::log1p(-std::min(lost(k, side), 1.0));
    }
  At at{log_sum(terms), std::vector<double>(losses_), std::vector<double>(losses_)};
  if (!(at.log_value > -kInfinity)) return at;
  for (size_t box = 0; box < count; ++box) {
    if (terms[box] <= 0) continue;
    for (size_t k = 0; k < losses_; ++k) {
      const Side& side = boxes_[box * losses_ + k];
      const Improvement& high = below[k][side.high];
      const double share = lost(k, side), scale = terms[box] / (1 - share);
      at.by_mean[k] += scale * high.by_mean, at.by_deviation[k] += scale * high.by_deviation;
      if (side.low == kUnbounded) continue;
      at.by_mean[k] -= scale * share * below[k][side.low].by_mean;
      at.by_deviation[k] -= scale * share * below[k][side.low].by_deviation;
    }
  }
  return at;
}

}  // namespace linac::tune
