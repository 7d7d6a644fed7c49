#include "linac/base/plan/spot_run.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/base/base/error.h"

namespace linac::plan {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kRounding_s = 1e-6;

// What is done of the work, where it runs and since when.
class Progress {
 public:
  Progress(const SpotJob& job, double work_s) : job_(job), work_s_(work_s) {}

  SpotPlace place() const { return place_; }
  /// As far as the policy knows of it.
  double done_s() const { return std::min(done_s_, job_.work_s); }
  bool complete() const { return done_s_ >= work_s_ - kRounding_s; }

  void move(SpotPlace place, double now_s) {
    if (place == place_) return;
    place_ = place;
    ready_s_ = now_s + job_.recovery_s;
    kept_s_ = done_s_;
  }
  /// The next moment at which something changes by itself.
  double next_s(double now_s) const {
    if (place_ == SpotPlace::kNone) return kForever;
    return now_s < ready_s_ ? ready_s_ : now_s + (work_s_ - done_s_);
  }
  void pass(double from_s, double to_s) {
    if (place_ != SpotPlace::kNone) done_s_ += std::max(0.0, to_s - std::max(from_s, ready_s_));
  }
  /// The work that is lost.
  double preempted() {
    const double since = done_s_ - kept_s_;
    const double lost = job_.checkpoint_s > 0 ? std::fmod(since, job_.checkpoint_s) : 0;
    done_s_ -= lost;
    place_ = SpotPlace::kNone;
    return lost;
  }

 private:
  const SpotJob& job_;
  const double work_s_;
  SpotPlace place_ = SpotPlace::kNone;
  double done_s_ = 0, ready_s_ = 0, kept_s_ = 0;
};

// Places of the dynamic programme: none, then spot and on demand, each with so many ticks of its recovery left.
struct Modes {
  int recovery = 0;
  int count() const { return 2 * recovery + 3; }
  int of(SpotPlace place, int left) const {
    if (place == SpotPlace::kNone) return 0;
    return 1 + left + (place == SpotPlace::kOnDemand ? recovery + 1 : 0);
  }
};

}  // namespace

SpotRun carry_out(const SpotJob& job, SpotMarket market, SpotSight sight, double work_s) {
  SpotRun run;
  Progress progress(job, work_s);
  SpotSeen seen;
  double now_s = 0, on_demand_since_s = 0;
  for (int changes = 0; !progress.complete();) {
    const SpotPlace before = progress.place();
    const bool blind = before == SpotPlace::kOnDemand && sight == SpotSight::kOwnMachine;
    const Decision decision = decide(job, {now_s, progress.done_s(), before, market.there() && !blind, seen,
                                           blind ? std::optional(now_s - on_demand_since_s) : std::nullopt});
    progress.move(decision.place, now_s);
    if (decision.place == SpotPlace::kOnDemand && before != decision.place) on_demand_since_s = now_s;
    if (blind && decision.place == SpotPlace::kNone) continue;  // now it looks
    const double next_s = std::min({market.until_s(), decision.until_s, progress.next_s(now_s)});
    if (next_s == kForever || changes > kChangesMax) {
      run.wall_s = kForever;
      return run;
    }
    const double passed_s = next_s - now_s;
    const bool watched = decision.place != SpotPlace::kOnDemand || sight == SpotSight::kMarket;
    if (decision.place == SpotPlace::kSpot) run.spot_s += passed_s;
    if (decision.place == SpotPlace::kOnDemand) run.on_demand_s += passed_s;
    if (watched) (market.there() ? seen.there_s : seen.gone_s) += passed_s;
    progress.pass(now_s, next_s);
    now_s = next_s;
    if (now_s < market.until_s() || progress.complete()) continue;
    ++changes;
    if (watched) ++(market.there() ? seen.ends : seen.begins);
    market.pass();
    if (market.there() || progress.place() != SpotPlace::kSpot) continue;
    ++run.preemptions;
    run.lost_s += progress.preempted();
  }
  run.wall_s = now_s;
  return run;
}

double least_money(const SpotJob& job, const SpotTrace& trace, double spot_price, double on_demand_price,
                   double tick_s) {
  LINAC_CHECK(tick_s > 0 && job.deadline_s > 0);
  const auto ticks = [&](double seconds) { return static_cast<int>(std::lround(seconds / tick_s)); };
  const int work = ticks(job.work_s), end = ticks(job.deadline_s);
  const Modes modes{ticks(job.recovery_s)};
  std::vector<bool> there(static_cast<size_t>(end));
  SpotMarket market(trace);
  for (int tick = 0; tick < end; ++tick) {
    while (market.until_s() <= tick * tick_s) market.pass();
    there[static_cast<size_t>(tick)] = market.there();
  }
  // later[done * count + mode]: the least cost of the rest, from the tick behind on.
  const int count = modes.count();
  std::vector<double> later(static_cast<size_t>((work + 1) * count), kForever), now = later;
  const auto at = [&](int done, int mode) { return static_cast<size_t>(done * count + mode); };
  for (int mode = 0; mode < count; ++mode) later[at(work, mode)] = now[at(work, mode)] = 0;
  const auto tick_of = [&](SpotPlace place, int left, int done, double price) {
    return price + (left > 0 ? later[at(done, modes.of(place, left - 1))] : later[at(done + 1, modes.of(place, 0))]);
  };
  for (int tick = end - 1; tick >= 0; --tick) {
    const bool spot = there[static_cast<size_t>(tick)];
    for (int done = std::max(0, work - (end - tick)); done < work; ++done) {
      const double begun_on_demand = tick_of(SpotPlace::kOnDemand, modes.recovery, done, on_demand_price);
      const double begun_on_spot = spot ? tick_of(SpotPlace::kSpot, modes.recovery, done, spot_price) : kForever;
      const double fresh = std::min({later[at(done, 0)], begun_on_demand, begun_on_spot});
      now[at(done, 0)] = fresh;
      for (int left = 0; left <= modes.recovery; ++left) {
        now[at(done, modes.of(SpotPlace::kOnDemand, left))] =
            std::min(fresh, tick_of(SpotPlace::kOnDemand, left, done, on_demand_price));
        now[at(done, modes.of(SpotPlace::kSpot, left))] =
            spot ? std::min(fresh, tick_of(SpotPlace::kSpot, left, done, spot_price)) : fresh;
      }
    }
    std::swap(now, later);
  }
  return later[at(0, 0)] * tick_s / 3600;
}

}  // namespace linac::plan
