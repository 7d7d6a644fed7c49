#pragma once
// A job that is carried out on machines that may be taken away (spot), with machines that stay (on demand) beside
// them: where it runs next, and what that comes to. Pure functions, thread-safe.
//
// Each start, on either, takes recovery_s before training goes on, paid like the rest. A machine that is taken away
// takes the work since the last checkpoint with it; who leaves one by himself writes a checkpoint first.
//
// The policy is Uniform Progress of Wu, Chiang, Mao, Yang, Friedman, Shenker and Stoica, "Can't Be Late: Optimizing
// Spot Instance Savings under Deadlines", NSDI 2024. It knows no prices and supposes nothing of the market:
//   - what runs on spot stays there until it is taken away, and spot that is there is taken;
//   - without spot the job waits while it is ahead of the line from nothing done at the begin to all done at the
//     deadline. Behind the line it goes on demand;
//   - it goes on demand for good where one more start on spot could cost the deadline: two recoveries, the work
//     between two checkpoints and what is left of the work have to fit in. (The paper loses no work.)
// The paper leaves a machine on demand two recoveries ahead of the line, for spot and for nothing alike. Here spot is
// taken at once: a wait does not make it safer, and near the end of a tight deadline the line hardly moves. For nothing
// the machine is left twenty recoveries ahead, as what comes next is one more start.

#include <cstdint>

#include "linac/base/plan/estimate.h"

namespace linac::plan {

struct SpotJob {
  double work_s = 0;        // of training that nothing interrupts
  double deadline_s = 0;    // from the begin; 0: none, then it waits for spot however long that takes
  double recovery_s = 0;    // from the start of a machine to the first step
  double checkpoint_s = 0;  // of work, from one checkpoint to the next; 0: nothing is ever lost
};

enum class SpotPlace { kNone, kSpot, kOnDemand };

struct SpotMoment {
  double now_s = 0;   // since the begin
  double done_s = 0;  // of the work; on spot it is not looked at
  SpotPlace place = SpotPlace::kNone;
  bool spot_there = false;  // whether a machine can be had, or is had
};

struct Decision {
  SpotPlace place = SpotPlace::kNone;
  double until_s = 0;  // when it is due for another one if the market does not change; infinite: never
};

Decision decide(const SpotJob& job, const SpotMoment& moment);

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

/// What the policy comes to over `cases` markets that are made up, with exponential lives and gaps. Prices are those of
/// an hour. A tenth of a microsecond for each life and gap. A job that would take a thousand lives and more is not
/// given to spot: then it never ends, or goes on demand if it has a deadline. User error for what is negative or no
/// number.
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
