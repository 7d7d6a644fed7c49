#pragma once
// A training on hosts that may be taken away, as a row of a plan: time, money and likelihood of the deadline by the
// policy of spot.h, which `linac launch --then` carries out. Pure, thread-safe.
//
// by_means() counts with what a mean life does, for a first look at many rows. carried_out() plays the policy over
// markets that are made up, each with a work and a queue drawn from their estimates: as the training may take more or
// less than the policy is told, so may the deadline be missed. The same row gives the same figures.

#include "linac/base/plan/estimate.h"
#include "linac/base/plan/spot.h"

namespace linac::plan {

/// Of one host's prices and of all hosts' lives: the first that is taken away ends the work of all.
struct SpotRow {
  SpotJob job;             // with a deadline from the end of the queue on; 0 where there is no host that stays
  double work_spread = 0;  // of the logarithm of job.work_s
  Estimate queue{0, 0};    // seconds before the first start
  double life_s = 0, gap_s = 0;
  double spot_price = 0, on_demand_price = 0;
  double deadline_s = 0;  // of all, the queue included; 0: none
};

struct SpotOutcome {
  Estimate seconds, money;  // of all, the queue included; of one host
  double paid_s = 0;        // in which a host is held, at the middle
  double on_demand = 0;     // the part of that on hosts that stay
  double preemptions = 0, on_time = 1;
  bool played = false;  // by carried_out()
  bool ends = true;     // else so few lives see the end of a step that it never does, and the figures are none
};

SpotOutcome by_means(const SpotRow& row);
SpotOutcome carried_out(const SpotRow& row);

/// Cases that carried_out() plays, where a training takes no more lives than kLivesPlayed. With more of them chance
/// evens out, and by_means() is as good.
inline constexpr int kSpotCases = 200, kLivesPlayed = 100;

}  // namespace linac::plan
