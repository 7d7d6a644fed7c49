#include "linac/tune/samplers/ranking.h"

#include <algorithm>
#include <tuple>

namespace linac::tune {
namespace {

// Less is better.
std::tuple<int, int64_t, double> order_of(const Trial& trial) {
  if (trial.state == State::kComplete) return {0, 0, trial.losses[0]};
  if (trial.state == State::kPruned && !trial.curve.empty())
    return {1, -trial.curve.back().first, trial.curve.back().second};
  return {2, 0, 0};
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
