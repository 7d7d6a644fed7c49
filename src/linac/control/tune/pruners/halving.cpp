#include "linac/control/tune/pruners/halving.h"

#include <fmt/format.h>

#include <limits>

#include "linac/control/tune/pruners/pruners.h"

namespace linac::tune {
namespace {

// The rung that the last report has reached for the first time; 0: none.
int64_t rung_of(const Trial& trial, int64_t first, int64_t factor) {
  const int64_t step = trial.curve.back().first;
  const int64_t before = trial.curve.size() < 2 ? 0 : trial.curve[trial.curve.size() - 2].first;
  int64_t rung = 0;
  for (int64_t at = first; at <= step; at *= factor) {
    if (at > before) rung = at;
    if (at > std::numeric_limits<int64_t>::max() / factor) break;
  }
  return rung;
}

}  // namespace

Verdict halving_verdict(const History& history, const Trial& trial, int64_t first, int64_t factor,
                        const std::function<bool(const Trial&)>& counts) {
  if (trial.curve.empty()) return {};
  const int64_t rung = rung_of(trial, first, factor);
  if (rung == 0) return {};
  // What counts is the best loss up to the rung: all have had as many steps.
  const double own = best_at(trial, rung);
  size_t all = 1, better = 0;
  for (const Trial& other : history.trials()) {
    if (other.number == trial.number || !reached(other, rung) || !counts(other)) continue;
    ++all;
    if (best_at(other, rung) < own) ++better;
  }
  const size_t places = std::max<size_t>(all / static_cast<size_t>(factor), 1);
  if (better < places && own < std::numeric_limits<double>::infinity()) return {};
  return {true,
          fmt::format("loss {:g} at rung {}: {} of {} trials are better, {} go on", own, rung, better, all, places)};
}

}  // namespace linac::tune
