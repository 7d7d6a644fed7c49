#include "linac/base/plan/spot_policy.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace linac::plan {
namespace {

constexpr double kForever = std::numeric_limits<double>::infinity();
constexpr double kRounding_s = 1e-3;  // what comes this soon is due

// Chosen on made-up markets of one seed; bench/spot.py judges them on others.
constexpr double kSupposedPart = 1. / 12, kSupposedStarts = 6;  // of the work, and of a recovery with a checkpoint
constexpr double kKeptBack = 1.5;                               // times what the mean number of lives asks for
constexpr double kLeftGaps = 2, kLeftRecoveries = 20;           // slack for them all before a machine is let go
constexpr double kLookGaps = 0.5, kLookRecoveries = 10;         // on demand, before it is left for a look
constexpr double kLookMin_s = 60;

// What a job may expect of the market from now on.
struct Prospect {
  double kept_back_s = 0;  // of slack, for changes to spot
  double gap_s = 0;        // mean
  bool changes = false;    // whether one from on demand to spot pays
  bool look_pays = false;  // and one that may find nothing
};

Prospect prospect_of(const SpotJob& job, const SpotSeen& seen, double left_s) {
  const double start_s = job.recovery_s, lost_s = job.checkpoint_s / 2;
  const double supposed_s = std::max(kSupposedPart * job.work_s, kSupposedStarts * (start_s + job.checkpoint_s));
  const double life_s = (supposed_s + seen.there_s) / (1 + seen.ends);
  const double gap_s = (supposed_s + seen.gone_s) / (1 + seen.begins);
  if (!(life_s > 0 && gap_s > 0)) return {};
  const double work_s = work_of_a_life_s(job, life_s);
  // In seconds on demand. Both do the work of a life on spot; a change has a start on demand in it.
  const double wait_saves_s = work_s - job.price_part * life_s, change_saves_s = wait_saves_s - start_s;
  const double wait_takes_s = std::max(kRounding_s, life_s + gap_s - work_s);
  const double change_takes_s = std::max(kRounding_s, 2 * start_s + lost_s);
  Prospect prospect{.gap_s = gap_s, .changes = change_saves_s > 0};
  if (prospect.changes && change_saves_s / change_takes_s > wait_saves_s / wait_takes_s)
    prospect.kept_back_s = kKeptBack * change_takes_s * left_s / (life_s + gap_s);
  prospect.look_pays = life_s / (life_s + gap_s) * wait_saves_s > start_s;
  return prospect;
}

}  // namespace

double work_of_a_life_s(const SpotJob& job, double life_s) {
  if (life_s == kForever) return kForever;
  if (life_s <= 0) return 0;
  // Of the parts between two checkpoints those that become whole: P(life > t) = exp(-t / mean), a geometric series.
  const double begun = std::exp(-job.recovery_s / life_s);
  return job.checkpoint_s > 0 ? begun * job.checkpoint_s / std::expm1(job.checkpoint_s / life_s) : begun * life_s;
}

Decision decide(const SpotJob& job, const SpotMoment& moment) {
  const bool on_demand = moment.place == SpotPlace::kOnDemand;
  if (moment.place == SpotPlace::kSpot && moment.spot_there) return {SpotPlace::kSpot, kForever};
  if (job.deadline_s <= 0) return {moment.spot_there ? SpotPlace::kSpot : SpotPlace::kNone, kForever};
  const double left_s = job.work_s - moment.done_s;
  // Slack beyond what one more start on spot may cost.
  const double slack_s = job.deadline_s - moment.now_s - left_s - 2 * job.recovery_s - job.checkpoint_s;
  if (slack_s <= kRounding_s) return {SpotPlace::kOnDemand, kForever};
  const Prospect prospect = prospect_of(job, moment.seen, left_s);
  if (moment.spot_there) return {on_demand && !prospect.changes ? SpotPlace::kOnDemand : SpotPlace::kSpot, kForever};
  const double wait_s = slack_s - prospect.kept_back_s;
  const Decision waits{SpotPlace::kNone, moment.now_s + std::max(wait_s, kRounding_s)};
  if (!on_demand) return wait_s > kRounding_s ? waits : Decision{SpotPlace::kOnDemand, kForever};
  if (wait_s > kLeftGaps * prospect.gap_s + kLeftRecoveries * job.recovery_s) return waits;
  if (!moment.unseen_s || !prospect.look_pays) return {SpotPlace::kOnDemand, kForever};
  const double look_s = std::max({kLookGaps * prospect.gap_s, kLookRecoveries * job.recovery_s, kLookMin_s});
  if (*moment.unseen_s >= look_s - kRounding_s) return waits;
  return {SpotPlace::kOnDemand, moment.now_s + look_s - *moment.unseen_s};
}

}  // namespace linac::plan
