#include "linac/control/tune/sampler.h"

#include "linac/base/base/error.h"

namespace linac::tune {
namespace {

constexpr uint32_t kAttemptsMax = 10;
constexpr uint32_t kRandomMax = 10000;
constexpr uint32_t kUse = 0;  // of Draws; samplers begin at 1

}  // namespace

Point random_point(const Space& space, Draws& draws) {
  std::vector<double> unit(space.size());
  for (double& u : unit) u = draws.uniform();
  return space.point_of(unit);
}

Point suggest(Sampler& sampler, const History& history, uint64_t seed, int64_t number) {
  const Space& space = history.space();
  Ask ask{.seed = seed, .number = number};
  Point repeated;
  for (; ask.attempt < kAttemptsMax; ++ask.attempt) {
    Point point = sampler.suggest(history, ask);
    if (!space.allows(point)) continue;
    if (!history.seen(point)) return point;
    if (repeated.empty()) repeated = std::move(point);
  }
  Draws draws(ask, kUse);
  for (uint32_t i = 0; i < kRandomMax; ++i) {
    Point point = random_point(space, draws);
    if (!space.allows(point)) continue;
    if (!history.seen(point)) return point;
    if (repeated.empty()) repeated = std::move(point);
  }
  if (repeated.empty())
    throw user_error(
        "[study] constraints: hold for none of 10000 random points (too narrow, or contradictory); "
        "narrow the ranges of the parameters instead");
  return repeated;
}

}  // namespace linac::tune
