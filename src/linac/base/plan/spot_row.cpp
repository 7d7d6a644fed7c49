#include "linac/base/plan/spot_row.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "linac/base/plan/spot_run.h"

namespace linac::plan {
namespace {

constexpr uint64_t kSeed = 20240416;  // any: all rows meet the same markets
// What a plan by means is off by, beside the work: lives and gaps are chance, the more the fewer there are.
constexpr double kMeansSpread = 0.5;
constexpr int kQueueStride = 61;  // no divisor of the cases: queues and works are drawn apart

// Four of five are in between; `values` ascend and are positive.
Estimate estimate_of(std::vector<double>& values) {
  std::ranges::sort(values);
  const auto at = [&](double part) {
    return values[static_cast<size_t>(std::lround(part * static_cast<double>(values.size() - 1)))];
  };
  const Interval interval{at(0.1), at(0.5), at(0.9)};
  return interval.low > 0 ? Estimate::of(interval) : Estimate{interval.middle, 0};
}

}  // namespace

SpotOutcome by_means(const SpotRow& row) {
  const SpotEstimate guess = spot_estimate(row.job, row.life_s, row.gap_s, row.spot_price, row.on_demand_price);
  SpotOutcome outcome;
  if (!std::isfinite(guess.hours)) {
    outcome.ends = false;
    return outcome;
  }
  const double wall_s = guess.hours * 3600, needed_s = row.job.recovery_s + row.job.work_s;
  const double lost_s = std::max(0.0, wall_s - needed_s);
  outcome.preemptions = wall_s / (row.life_s + row.gap_s);
  const Estimate parts[] = {
      row.queue, {needed_s, row.work_spread}, {lost_s, joined(kMeansSpread, 1 / std::sqrt(1 + outcome.preemptions))}};
  outcome.seconds = sum(parts);
  outcome.money = {guess.money, sum(std::span(parts).subspan(1)).spread};
  // Both prices are of the hours of one of two kinds.
  const double spot_money = needed_s / 3600 * row.spot_price;
  const double dearer = row.on_demand_price - row.spot_price;
  outcome.on_demand = row.job.deadline_s > 0 && dearer > 0 && needed_s > 0
                          ? std::clamp((guess.money - spot_money) / (dearer * needed_s / 3600), 0.0, 1.0)
                          : 0;
  outcome.paid_s = needed_s + std::min(lost_s, outcome.preemptions * (row.job.recovery_s + row.job.checkpoint_s / 2));
  // The policy keeps a deadline that hosts which stay can keep.
  const Estimate at_worst{needed_s + row.job.recovery_s + row.job.checkpoint_s, row.work_spread};
  if (row.job.deadline_s > 0)
    outcome.on_time = at_worst.no_more_than(row.job.deadline_s);
  else if (row.deadline_s > 0)
    outcome.on_time = outcome.seconds.no_more_than(row.deadline_s);
  return outcome;
}

SpotOutcome carried_out(const SpotRow& row) {
  SpotOutcome outcome = by_means(row);
  outcome.played = true;
  if (!outcome.ends || outcome.preemptions > kLivesPlayed) return outcome;
  const Estimate work{row.job.work_s, row.work_spread};
  SpotJob job = row.job;
  if (row.on_demand_price > 0) job.price_part = row.spot_price / row.on_demand_price;
  const SpotRates rates{SpotKind::kExponential, row.life_s, row.gap_s};
  std::vector<double> seconds, money, paid;
  double on_demand_s = 0, held_s = 0;
  int preemptions = 0, on_time = 0;
  const auto likelihood = [](int one) { return (one + 0.5) / kSpotCases; };
  for (int one = 0; one < kSpotCases; ++one) {
    const SpotRun run = carry_out(job, SpotMarket(rates, kSeed, static_cast<uint32_t>(one)), SpotSight::kOwnMachine,
                                  work.quantile(likelihood(one)));
    const double queue_s = row.queue.quantile(likelihood(one * kQueueStride % kSpotCases));
    if (!std::isfinite(run.wall_s)) {
      outcome.ends = false;
      return outcome;
    }
    seconds.push_back(queue_s + run.wall_s);
    money.push_back(run.money(row.spot_price, row.on_demand_price));
    paid.push_back(run.spot_s + run.on_demand_s);
    on_demand_s += run.on_demand_s;
    held_s += paid.back();
    preemptions += run.preemptions;
    on_time += row.deadline_s <= 0 || seconds.back() <= row.deadline_s ? 1 : 0;
  }
  outcome.seconds = estimate_of(seconds);
  outcome.money = estimate_of(money);
  outcome.paid_s = estimate_of(paid).middle;
  outcome.on_demand = held_s > 0 ? on_demand_s / held_s : 0;
  outcome.preemptions = static_cast<double>(preemptions) / kSpotCases;
  outcome.on_time = static_cast<double>(on_time) / kSpotCases;
  return outcome;
}

}  // namespace linac::plan
