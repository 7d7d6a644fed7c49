#include "linac/control/tune/pareto.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <queue>
#include <tuple>

namespace linac::tune {
namespace {

constexpr double kReference = 1.1;  // of greedy_cover(), where the worst loss is 1

// Of the first `dimensions` losses; `rows` lie before the reference, and are reordered.
double volume(std::span<const double*> rows, size_t dimensions, std::span<const double> reference) {
  if (rows.empty()) return 0;
  const size_t last = dimensions - 1;
  std::sort(rows.begin(), rows.end(), [&](const double* a, const double* b) { return a[last] < b[last]; });
  if (dimensions == 1) return reference[0] - rows[0][0];
  double sum = 0;
  if (dimensions == 2) {
    double least = reference[0];
    for (size_t i = 0; i < rows.size(); ++i) {
      least = std::min(least, rows[i][0]);
      const double next = i + 1 < rows.size() ? rows[i + 1][1] : reference[1];
      sum += (reference[0] - least) * (next - rows[i][1]);
    }
    return sum;
  }
  std::vector<const double*> below;
  for (size_t i = 0; i < rows.size(); ++i) {
    const double next = i + 1 < rows.size() ? rows[i + 1][last] : reference[last];
    below.assign(rows.begin(), rows.begin() + static_cast<std::ptrdiff_t>(i) + 1);
    if (next > rows[i][last]) sum += (next - rows[i][last]) * volume(below, last, reference);
  }
  return sum;
}

}  // namespace

bool dominates(std::span<const double> one, std::span<const double> other) {
  bool less = false;
  for (size_t i = 0; i < one.size(); ++i) {
    if (one[i] > other[i]) return false;
    less = less || one[i] < other[i];
  }
  return less;
}

std::vector<size_t> fronts_of(const std::vector<Losses>& rows) {
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // By the first loss, then the second, ...: none is dominated by a later one.
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return rows[a] < rows[b]; });
  std::vector<std::vector<size_t>> fronts;
  std::vector<size_t> front_of(rows.size());
  for (const size_t row : order) {
    size_t front = 0;
    const auto holds_better = [&](const std::vector<size_t>& members) {
      return std::any_of(members.rbegin(), members.rend(),
                         [&](size_t member) { return dominates(rows[member], rows[row]); });
    };
    while (front < fronts.size() && holds_better(fronts[front])) ++front;
    if (front == fronts.size()) fronts.emplace_back();
    fronts[front].push_back(row);
    front_of[row] = front;
  }
  return front_of;
}

std::vector<Losses> scaled(const std::vector<Losses>& rows) {
  std::vector<Losses> result = rows;
  if (rows.empty()) return result;
  for (size_t d = 0; d < rows[0].size(); ++d) {
    double low = rows[0][d], high = low;
    for (const Losses& row : rows) low = std::min(low, row[d]), high = std::max(high, row[d]);
    // Halves: the range of the largest numbers there are is not finite.
    for (Losses& row : result) row[d] = low < high ? (0.5 * row[d] - 0.5 * low) / (0.5 * high - 0.5 * low) : 0.5;
  }
  return result;
}

std::vector<double> crowding_of(const std::vector<Losses>& rows) {
  std::vector<double> crowding(rows.size(), 0);
  if (rows.empty()) return crowding;
  const std::vector<Losses> unit = scaled(rows);
  std::vector<size_t> order(rows.size());
  std::iota(order.begin(), order.end(), size_t{0});
  for (size_t d = 0; d < rows[0].size(); ++d) {
    std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return unit[a][d] < unit[b][d]; });
    crowding[order.front()] = crowding[order.back()] = std::numeric_limits<double>::infinity();
    for (size_t i = 1; i + 1 < order.size(); ++i) crowding[order[i]] += unit[order[i + 1]][d] - unit[order[i - 1]][d];
  }
  return crowding;
}

double hypervolume(const std::vector<Losses>& rows, std::span<const double> reference) {
  std::vector<const double*> inside;
  for (const Losses& row : rows)
    if (std::equal(row.begin(), row.end(), reference.begin(), [](double loss, double bound) { return loss < bound; }))
      inside.push_back(row.data());
  return volume(inside, reference.size(), reference);
}

std::vector<size_t> greedy_cover(const std::vector<Losses>& rows, size_t count) {
  std::vector<size_t> chosen;
  if (rows.empty()) return chosen;
  const std::vector<Losses> unit = scaled(rows);
  const Losses reference(rows[0].size(), kReference);
  std::vector<Losses> covered;
  double volume = 0;
  const auto gain_of = [&](size_t row) {
    covered.push_back(unit[row]);
    const double with = hypervolume(covered, reference);
    covered.pop_back();
    return with - volume;
  };
  // What a row adds only falls as others are chosen, so an old figure is a bound: few are computed anew for each
  // choice.
  struct Bound {
    double gain;
    size_t row, when;
    bool operator<(const Bound& other) const {
      return std::tuple(gain, other.row) < std::tuple(other.gain, row);  // the largest first, then the earliest row
    }
  };
  std::priority_queue<Bound> bounds;
  for (size_t row = 0; row < rows.size(); ++row) bounds.push({gain_of(row), row, 0});
  while (chosen.size() < std::min(count, rows.size())) {
    Bound best = bounds.top();
    bounds.pop();
    if (best.when < chosen.size()) {
      bounds.push({gain_of(best.row), best.row, chosen.size()});
      continue;
    }
    chosen.push_back(best.row);
    covered.push_back(unit[best.row]);
    volume += best.gain;
  }
  return chosen;
}

}  // namespace linac::tune
