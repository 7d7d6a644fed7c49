#include "linac/base/plan/spot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/base/plan/spot_run.h"

namespace linac::plan {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kRounding_s = 1e-3;
constexpr double kLivesMax = 1000;         // of machines, for one job
constexpr double kRecoveriesOfAStay = 20;  // on demand, roughly
constexpr double kHour_s = 3600;

Interval interval_of(std::vector<double>& values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double part) {
    return values[static_cast<size_t>(std::lround(part * static_cast<double>(values.size() - 1)))];
  };
  return {at(0.1), at(0.5), at(0.9)};
}

}  // namespace

double young_interval_s(double cost_s, double between_failures_s) {
  return std::sqrt(2 * cost_s * between_failures_s);
}

double daly_interval_s(double cost_s, double between_failures_s) {
  if (cost_s >= 2 * between_failures_s) return between_failures_s;
  const double part = cost_s / (2 * between_failures_s);
  return young_interval_s(cost_s, between_failures_s) * (1 + std::sqrt(part) / 3 + part / 9) - cost_s;
}

SpotForecast spot_forecast(double work_s, double deadline_s, double recovery_s, double checkpoint_s, double mean_life_s,
                           double mean_gap_s, double spot_price, double on_demand_price, uint64_t seed, int cases) {
  for (const double value : {work_s, deadline_s, recovery_s, checkpoint_s, spot_price, on_demand_price})
    if (!(value >= 0 && std::isfinite(value)))
      throw user_error(fmt::format("[spot] {}: a time or price is not 0 or more", value));
  if (!(mean_life_s >= 0 && mean_gap_s >= 0) || cases < 1)
    throw user_error(fmt::format("[spot] lives of {} s, gaps of {} s, {} cases: none can be less than 0", mean_life_s,
                                 mean_gap_s, cases));
  SpotJob job{work_s, deadline_s, recovery_s, checkpoint_s};
  if (on_demand_price > 0) job.price_part = spot_price / on_demand_price;
  const bool hopeless = work_s > kLivesMax * work_of_a_life_s(job, mean_life_s) || mean_gap_s == kForever;
  if (hopeless && deadline_s <= 0) return {{kForever, kForever, kForever}, {kForever, kForever, kForever}, 1, 0};
  const SpotRates rates{hopeless ? SpotKind::kNever : SpotKind::kExponential, mean_life_s, mean_gap_s};
  std::vector<double> hours, money;
  SpotForecast forecast;
  int held = 0, preemptions = 0;
  for (int one = 0; one < cases; ++one) {
    const SpotRun run = carry_out(job, SpotMarket(rates, seed, static_cast<uint32_t>(one)), SpotSight::kOwnMachine);
    hours.push_back(run.wall_s / kHour_s);
    money.push_back(run.wall_s == kForever ? kForever : run.money(spot_price, on_demand_price));
    held += deadline_s <= 0 || run.wall_s <= deadline_s + kRounding_s;
    preemptions += run.preemptions;
  }
  forecast.hours = interval_of(hours);
  forecast.money = interval_of(money);
  forecast.deadline_held = static_cast<double>(held) / cases;
  forecast.preemptions = static_cast<double>(preemptions) / cases;
  return forecast;
}

SpotEstimate spot_estimate(const SpotJob& job, double mean_life_s, double mean_gap_s, double spot_price,
                           double on_demand_price) {
  const double work_s = work_of_a_life_s(job, mean_life_s), cycle_s = mean_life_s + mean_gap_s;
  const bool never = work_s <= 0 || mean_gap_s == kForever;
  const double recovery_s = job.recovery_s;
  double spot_s = kForever, wall_s = kForever, on_demand_s = 0;
  if (!never) {
    // A machine that stays for ever has no cycles.
    const bool ends = mean_life_s < kForever;
    spot_s = recovery_s + (ends ? job.work_s * mean_life_s / work_s : job.work_s);
    wall_s = spot_s + (ends ? (spot_s / mean_life_s + mean_gap_s / cycle_s) * mean_gap_s : 0);
  }
  if (job.deadline_s > 0 && wall_s > job.deadline_s) {
    const double cycles = never ? 0 : job.deadline_s / cycle_s;
    const double left_s = job.work_s - std::min(job.work_s, cycles * (never ? 0 : work_s));
    on_demand_s =
        left_s + recovery_s * std::clamp(cycles, 1.0, std::max(1.0, left_s / (kRecoveriesOfAStay * recovery_s)));
    spot_s = never ? 0 : std::max(0.0, (job.work_s - left_s) * mean_life_s / work_s);
    wall_s = std::max(job.deadline_s, on_demand_s);
    if (never) wall_s = on_demand_s;
  }
  const auto cost = [](double seconds, double price) { return seconds > 0 ? seconds * price : 0; };
  return {wall_s / kHour_s, (cost(spot_s, spot_price) + cost(on_demand_s, on_demand_price)) / kHour_s};
}

}  // namespace linac::plan
