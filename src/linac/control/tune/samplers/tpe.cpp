// The tree-structured Parzen estimator (Bergstra, Bardenet, Bengio and Kegl, NIPS 2011, section 4), multivariate as in
// BOHB (Falkner, Klein and Hutter, ICML 2018, section 3.2): the best trials give one density, all others another one,
// and of points drawn from the first that of the largest ratio is tried. What each part does for the result: Watanabe,
// "Tree-structured Parzen estimator", arXiv:2304.11127 (2023). Running trials count with the others (the constant liar
// of Ginsbourger, Le Riche and Carraro, 2010), so those who ask at the same time get different points. Conditions need
// no groups: a kernel has the prior's factor for what is inactive in its point (parzen.h).

#include <algorithm>
#include <cmath>

#include "linac/control/tune/samplers/parzen.h"
#include "linac/control/tune/samplers/ranking.h"
#include "linac/control/tune/samplers/samplers.h"
#include "linac/control/tune/samplers/startup.h"

namespace linac::tune {
namespace {

constexpr uint32_t kUse = 3;
constexpr size_t kStartup = 10;
constexpr int kCandidates = 24;
// The best trials: this share, but no more than so many.
constexpr double kGoodShare = 0.15;
constexpr size_t kGoodMin = 2, kGoodMax = 50;
// The weight of the best one over that of the last one among them is (1 + kSlope / 2) / (1 - kSlope / 2).
constexpr double kSlope = 1;
// Of the others the nearest to the best are in the mixture, each, and an even choice of the rest, which stand for it:
// so the time of a suggestion does not grow with the trials.
constexpr size_t kOthersEach = 200, kOthersChosen = 200;
constexpr ParzenOptions kGood{.width = 0.7, .width_least = 0.02, .width_most = 0.5, .prior = 0.5, .kept = 0.6};
constexpr ParzenOptions kOthers{.width = 0.5, .width_least = 0.03, .width_most = 0.5, .prior = 0.5, .kept = 0.6};

struct Weighted {
  std::vector<const Trial*> trials;
  std::vector<double> weights;

  void add(const Trial& trial, double weight) {
    trials.push_back(&trial);
    weights.push_back(weight);
  }
};

Weighted best_of(const History& history, const std::vector<size_t>& order, size_t count) {
  Weighted best;
  for (size_t i = 0; i < count; ++i) {
    const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(count);  // 0 to 1
    best.add(history.trials()[order[i]], 1 + kSlope * (0.5 - place));
  }
  return best;
}

Weighted others_of(const History& history, const std::vector<size_t>& order, size_t from) {
  Weighted others;
  const size_t each = std::min(order.size(), from + kOthersEach), rest = order.size() - each;
  for (size_t i = from; i < each; ++i) others.add(history.trials()[order[i]], 1);
  const size_t chosen = std::min(rest, kOthersChosen);
  for (size_t i = 0; i < chosen; ++i)
    others.add(history.trials()[order[each + i * rest / chosen]],
               static_cast<double>(rest) / static_cast<double>(chosen));
  for (const size_t place : running(history)) others.add(history.trials()[place], 1);
  return others;
}

class Tpe : public Sampler {
 public:
  explicit Tpe(const SamplerSettings& settings)
      : startup_(settings.startup > 0 ? static_cast<size_t>(settings.startup) : kStartup),
        candidates_(settings.candidates > 0 ? settings.candidates : kCandidates) {}

  Point suggest(const History& history, const Ask& ask) override {
    const Space& space = history.space();
    const std::vector<size_t> order = ranked(history);
    if (order.size() < std::max(startup_, kGoodMin)) return startup_point(space, ask);
    const auto share = static_cast<size_t>(std::ceil(kGoodShare * static_cast<double>(order.size())));
    const size_t count = std::clamp(share, kGoodMin, kGoodMax);
    Weighted best = best_of(history, order, count), others = others_of(history, order, count);
    const Parzen good(space, std::move(best.trials), best.weights, kGood);
    const Parzen other(space, std::move(others.trials), others.weights, kOthers);
    Draws draws(ask, kUse);
    Point chosen;
    double chosen_score = 0;
    for (int i = 0; i < candidates_; ++i) {
      const std::vector<double> unit = good.draw(draws);
      Point point = space.point_of(unit);
      if (!space.allows(point)) continue;
      const double score = good.log_density(point, unit) - other.log_density(point, unit);
      if (chosen.empty() || score > chosen_score) {
        chosen = std::move(point);
        chosen_score = score;
      }
    }
    return chosen.empty() ? random_point(space, draws) : chosen;
  }

 private:
  size_t startup_;
  int candidates_;
};

}  // namespace

std::unique_ptr<Sampler> make_tpe(const SamplerSettings& settings) {
  return std::make_unique<Tpe>(settings);
}

}  // namespace linac::tune
