#pragma once
// Where a job with a deadline runs next: on machines that may be taken away (spot), on machines that stay (on demand),
// or nowhere, until spot is there. A pure function, thread-safe.
//
// Each start, on either, takes recovery_s before training goes on, paid like the rest. A machine that is taken away
// takes the work since the last checkpoint with it; who leaves one by himself writes a checkpoint first.
//
// What is rationed is the slack: the time to the deadline beyond the work that is left. A second of it is used up by
// each second in which nothing is trained: waits, starts, and work that is done twice. The policy:
//   - what runs on spot stays there until it is taken away, and who runs nowhere takes spot that is there;
//   - on demand for good where one more start on spot could cost the deadline: slack for two recoveries and the work
//     between two checkpoints. So each deadline is kept that can be kept;
//   - in a gap of the market it waits, as work that is done on demand early is no cheaper than later. But slack is kept
//     back to go to spot from on demand, once for each life and gap that the work left is expected to meet, and half as
//     often again. Below that it goes on demand at once, and to spot when that is there;
//   - where such a change saves less than its start costs, or less for a second of slack than waiting does, nothing is
//     kept back.
// How long lives and gaps are it learns as it goes, as the means of exponential distributions, from one life and gap of
// a twelfth of the work each that are supposed before. Its place in the literature: Wu, Chiang, Mao, Yang, Friedman,
// Shenker and Stoica, "Can't Be Late: Optimizing Spot Instance Savings under Deadlines", NSDI 2024, whose Uniform
// Progress keeps back slack in proportion to the work left, and supposes nothing of the market.

#include <optional>

namespace linac::plan {

struct SpotJob {
  double work_s = 0;        // of training that nothing interrupts
  double deadline_s = 0;    // from the begin; 0: none, then it waits for spot however long that takes
  double recovery_s = 0;    // from the start of a machine to the first step
  double checkpoint_s = 0;  // of work, from one checkpoint to the next; 0: nothing is ever lost
  double price_part = 0.3;  // of an hour on spot, of that on demand
};

enum class SpotPlace { kNone, kSpot, kOnDemand };

/// Of the market, as far as somebody looked.
struct SpotSeen {
  double there_s = 0, gone_s = 0;  // how long machines could be had, and could not
  int ends = 0, begins = 0;        // so often the one became the other
};

struct SpotMoment {
  double now_s = 0;   // since the begin
  double done_s = 0;  // of the work; on spot it is not looked at
  SpotPlace place = SpotPlace::kNone;
  bool spot_there = false;  // whether a machine can be had, or is had
  SpotSeen seen = {};
  /// For how long nobody could look, as machines on demand do not show the other market; then spot_there is false. Such
  /// a machine is left for a look where that is worth a start.
  std::optional<double> unseen_s = std::nullopt;
};

struct Decision {
  SpotPlace place = SpotPlace::kNone;
  double until_s = 0;  // when it is due for another one if the market does not change; infinite: never
};

Decision decide(const SpotJob& job, const SpotMoment& moment);

/// Work that a machine does on average until it is taken away, with lives of that mean without memory; infinite for
/// an infinite one.
double work_of_a_life_s(const SpotJob& job, double life_s);

}  // namespace linac::plan
