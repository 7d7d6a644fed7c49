#include "linac/control/tune/samplers/ranking.h"

#include <algorithm>
#include <tuple>

#include "linac/control/tune/pareto.h"

namespace linac::tune {
namespace {

// Less is better.
std::tuple<int, int64_t, double> order_of(const Trial& trial) {
  if (trial.state == State::kComplete) return {0, 0, trial.losses[0]};
  if (trial.state == State::kPruned && !trial.curve.empty())
    return {1, -trial.curve.back().first, trial.curve.back().second};
  return {2, 0, 0};
}

// The first places of a front are of use, and are what is dear to find.
constexpr size_t kCovered = 50;

/// Complete trials of several losses, the best first; equal ones keep their order.
void order_by_fronts(const History& history, std::span<size_t> places) {
  std::vector<Losses> rows;
  for (const size_t place : places) rows.push_back(history.trials()[place].losses);
  const std::vector<size_t> fronts = fronts_of(rows);
  std::vector<std::vector<size_t>> members;
  for (size_t i = 0; i < rows.size(); ++i) {
    if (fronts[i] >= members.size()) members.resize(fronts[i] + 1);
    members[fronts[i]].push_back(i);
  }
  std::vector<size_t> ordered;
  for (const std::vector<size_t>& front : members) {
    std::vector<Losses> of_front;
    for (const size_t i : front) of_front.push_back(rows[i]);
    std::vector<bool> taken(front.size());
    const size_t wanted = ordered.size() < kCovered ? kCovered - ordered.size() : 0;
    for (const size_t k : greedy_cover(of_front, wanted)) {
      ordered.push_back(places[front[k]]);
      taken[k] = true;
    }
    for (size_t k = 0; k < front.size(); ++k)
      if (!taken[k]) ordered.push_back(places[front[k]]);
  }
  std::copy(ordered.begin(), ordered.end(), places.begin());
}

}  // namespace

std::vector<size_t> ranked(const History& history) {
  std::vector<std::pair<std::tuple<int, int64_t, double>, size_t>> sorted;
  sorted.reserve(history.told().size());
  for (const size_t place : history.told()) {
    const Trial& trial = history.trials()[place];
    if (trial.state != State::kFailed) sorted.emplace_back(order_of(trial), place);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto& one, const auto& other) { return one.first < other.first; });
  std::vector<size_t> places;
  places.reserve(sorted.size());
  for (const auto& [order, place] : sorted) places.push_back(place);
  if (history.objectives() > 1) {
    const auto complete = std::span(places).first(history.complete_count());
    std::sort(complete.begin(), complete.end());  // as started: by the first loss they were sorted above
    order_by_fronts(history, complete);
  }
  return places;
}

std::vector<size_t> running(const History& history) {
  std::vector<size_t> places;
  const auto trials = history.trials();
  for (size_t i = 0; i < trials.size(); ++i)
    if (trials[i].state == State::kRunning) places.push_back(i);
  return places;
}

}  // namespace linac::tune
