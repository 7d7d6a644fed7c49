#include "linac/control/tune/population.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <limits>

#include "linac/base/base/error.h"
#include "linac/base/base/nearest.h"
#include "linac/control/tune/populations/populations.h"
#include "linac/control/tune/sampler.h"
#include "linac/control/tune/samplers/startup.h"

namespace linac::tune {
namespace {

constexpr uint32_t kUseOfParent = 22;  // of Draws
constexpr uint32_t kAttemptsMax = 1000;
constexpr int64_t kMembersMax = 1000;

struct Row {
  const char* name;
  Point (*explore)(const Exploring&);
};

constexpr Row kMethods[] = {{"pbt", explore_pbt}, {"pb2", explore_pb2}};

const Row* row_of(const std::string& name) {
  for (const Row& row : kMethods)
    if (name == row.name) return &row;
  return nullptr;
}

/// The members' last trials, the best first; those without a result are last. Equal ones by their numbers.
std::vector<const Trial*> ranked_generation(const History& history, int64_t first, int64_t members) {
  std::vector<const Trial*> trials;
  for (int64_t number = first; number < first + members; ++number)
    if (const Trial* trial = history.find(number)) trials.push_back(trial);
  const auto loss = [](const Trial* trial) {
    return trial->state == State::kComplete ? loss_at_end(*trial) : std::numeric_limits<double>::infinity();
  };
  std::stable_sort(trials.begin(), trials.end(), [&](const Trial* one, const Trial* other) {
    const bool well = one->state == State::kComplete, also = other->state == State::kComplete;
    return well != also ? well : loss(one) < loss(other);
  });
  return trials;
}

/// Calls `propose` with one attempt after the other until the constraints allow its point.
template <class Propose>
Point allowed(const Space& space, Ask ask, const Propose& propose) {
  for (; ask.attempt < kAttemptsMax; ++ask.attempt)
    if (Point point = propose(ask); space.allows(point)) return point;
  throw user_error(fmt::format(
      "[study] constraints: hold for none of {} points that a member may try (too narrow, or contradictory); "
      "narrow the ranges of the parameters instead",
      kAttemptsMax));
}

}  // namespace

std::vector<std::string> population_methods() {
  std::vector<std::string> names{"none"};
  for (const Row& row : kMethods) names.emplace_back(row.name);
  return names;
}

double loss_at_end(const Trial& trial) {
  if (!trial.curve.empty()) return trial.curve.back().second;
  return trial.losses.empty() ? std::numeric_limits<double>::infinity() : trial.losses[0];
}

Population::Population(const PopulationSettings& settings) : settings_(settings) {
  const auto need = [](bool holds, const char* key, const std::string& why) {
    if (!holds) throw user_error(fmt::format("[study] population.{}: {}", key, why));
  };
  if (row_of(settings.method) == nullptr) {
    const std::vector<std::string> names = population_methods();
    const auto near = nearest(settings.method, names);
    need(false, "method",
         fmt::format("there is no '{}'{} (known: {})", settings.method, near ? "; did you mean '" + *near + "'?" : "",
                     fmt::join(names, ", ")));
  }
  need(settings.members >= 2 && settings.members <= kMembersMax, "members",
       fmt::format("{} are not possible; 2 to {}", settings.members, kMembersMax));
  need(settings.interval >= 1, "interval", fmt::format("{} is not possible; 1 or more", settings.interval));
  need(settings.quantile > 0 && settings.quantile <= 0.5, "quantile",
       fmt::format("{} is not possible; more than 0, at most 0.5", settings.quantile));
  need(settings.resample >= 0 && settings.resample <= 1, "resample",
       fmt::format("{} is not possible; 0 to 1", settings.resample));
}

std::vector<int64_t> Population::waits_for(const History& history, int64_t trial) const {
  std::vector<int64_t> running;
  const int64_t begin = generation_of(trial) * settings_.members + 1;
  for (int64_t number = std::max<int64_t>(1, begin - settings_.members); number < begin; ++number)
    if (const Trial* const found = history.find(number); found != nullptr && found->state == State::kRunning)
      running.push_back(number);
  return running;
}

PopulationStep Population::next(const History& history, uint64_t seed, int64_t trial) const {
  const Space& space = history.space();
  const Ask ask{.seed = seed, .number = trial};
  const std::vector<int64_t> waits = waits_for(history, trial);
  if (!waits.empty())
    throw user_error(
        fmt::format("[study] trial {} begins generation {}, which waits for the ends of trials {}; tell them (failed: "
                    "that counts as the worst)",
                    trial, generation_of(trial) + 1, fmt::join(waits, ", ")));
  const auto anew = [&] { return allowed(space, ask, [&](const Ask& one) { return startup_point(space, one); }); };
  if (generation_of(trial) == 0) return {anew(), 0};
  const int64_t before = (generation_of(trial) - 1) * settings_.members + 1;
  const std::vector<const Trial*> ranked = ranked_generation(history, before, settings_.members);
  const auto well = static_cast<size_t>(
      std::count_if(ranked.begin(), ranked.end(), [](const Trial* one) { return one->state == State::kComplete; }));
  if (well == 0) return {anew(), 0};
  const auto some =
      std::max<size_t>(1, static_cast<size_t>(settings_.quantile * static_cast<double>(settings_.members)));
  const int64_t own = trial - settings_.members;
  const auto rank = static_cast<size_t>(
      std::find_if(ranked.begin(), ranked.end(), [&](const Trial* one) { return one->number == own; }) -
      ranked.begin());
  const size_t upper = std::min(some, well);
  const bool follows = rank >= well || rank + some >= ranked.size();
  if (!follows || (rank < well && loss_at_end(*ranked[rank]) <= loss_at_end(*ranked[upper - 1])))
    return {ranked[rank]->point, own};
  const Trial& parent = *ranked[Draws(ask, kUseOfParent).below(upper)];
  const Row& method = *row_of(settings_.method);
  return {allowed(space, ask,
                  [&](const Ask& one) {
                    return method.explore({history, settings_, parent, one});
                  }),
          parent.number};
}

}  // namespace linac::tune
