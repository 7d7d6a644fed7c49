#pragma once
// A job carried out over a spot market, by the policy of spot.h, and by somebody who knows what is to come. Pure.

#include <utility>

#include "linac/base/plan/spot.h"
#include "linac/base/plan/spot_trace.h"

namespace linac::plan {

struct SpotRun {
  double wall_s = 0;  // until all is done; infinite: never
  double spot_s = 0, on_demand_s = 0;
  double lost_s = 0;  // of work that was done twice
  int preemptions = 0;

  double money(double spot_price, double on_demand_price) const {
    return (spot_s * spot_price + on_demand_s * on_demand_price) / 3600;
  }
};

/// What is seen while the job runs on demand: the market as well, or nothing of it, as at most sites.
enum class SpotSight { kMarket, kOwnMachine };

/// Gives up, with wall_s infinite, after kChangesMax changes of the market. `work_s`: what the work turns out to be,
/// where the policy goes by job.work_s.
SpotRun carry_out(const SpotJob& job, SpotMarket market, SpotSight sight, double work_s);
inline SpotRun carry_out(const SpotJob& job, SpotMarket market, SpotSight sight = SpotSight::kMarket) {
  return carry_out(job, std::move(market), sight, job.work_s);
}
inline constexpr int kChangesMax = 100000;

/// The least that the job could cost by its deadline for who knows the whole trace, and so writes a checkpoint right
/// before each end: by dynamic programming over (moment, work done, place) in whole ticks. Infinite: the deadline
/// cannot be kept. Exact where changes, work, deadline and recovery are whole ticks: with an order of places given, the
/// cost is linear in the moments of the changes, each bound to one before it or to the trace by whole ticks, and
/// together by the work, with coefficients of 1 and -1; so some best choice lies on whole ticks.
double least_money(const SpotJob& job, const SpotTrace& trace, double spot_price, double on_demand_price,
                   double tick_s);

}  // namespace linac::plan
