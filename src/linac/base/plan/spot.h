#pragma once
// What a job comes to that is carried out on machines that may be taken away (spot), with machines that stay (on
// demand) beside them, by the policy of spot_policy.h. Pure functions, thread-safe.

#include <cstdint>

#include "linac/base/plan/estimate.h"
#include "linac/base/plan/spot_policy.h"

namespace linac::plan {

/// Seconds of work between checkpoints that cost least, where one stops the training for `cost_s` and failures come
/// at random, every `between_failures_s` on average. By first order: Young, "A first order approximation to the optimum
/// checkpoint interval", Communications of the ACM 17 (1974) 530.
double young_interval_s(double cost_s, double between_failures_s);
/// By higher order: Daly, "A higher order estimate of the optimum checkpoint interval for restart dumps", Future
/// Generation Computer Systems 22 (2006) 303, eq. 37.
double daly_interval_s(double cost_s, double between_failures_s);

struct SpotForecast {
  Interval hours, money;     // 80 in 100 cases, until all is done; infinite: never
  double deadline_held = 1;  // in such a part of the cases; 1 without one
  double preemptions = 0;    // on average
};

/// What the policy comes to over `cases` markets that are made up, with exponential lives and gaps, for who sees no
/// market from a machine on demand. Prices are those of an hour. A tenth of a microsecond for each life and gap. A job
/// that would take a thousand lives and more is not given to spot: then it never ends, or goes on demand if it has a
/// deadline. User error for what is negative or no number.
SpotForecast spot_forecast(double work_s, double deadline_s, double recovery_s, double checkpoint_s, double mean_life_s,
                           double mean_gap_s, double spot_price, double on_demand_price, uint64_t seed,
                           int cases = 200);

/// The same in closed form, for a first look at many candidates: means, by what a mean life does and a mean gap takes.
/// Without a deadline, and far from it, within some per cent of the median; where the market just about suffices for
/// the deadline up to a third too cheap, as chance makes some gaps longer.
struct SpotEstimate {
  double hours = 0, money = 0;
};
SpotEstimate spot_estimate(const SpotJob& job, double mean_life_s, double mean_gap_s, double spot_price,
                           double on_demand_price);

}  // namespace linac::plan
