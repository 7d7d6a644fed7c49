#pragma once
// Where the islands come together: the end of a round. What each of them has made of the weights that all began with
// becomes the weights of all. Used from one thread.

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/base/job/run_record.h"
#include "linac/train/comm/group.h"
#include "linac/train/train/local/island_states.h"
#include "linac/train/train/local/islands.h"
#include "linac/train/train/loops/loop_steps.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

/// An island in a round.
struct IslandRound {
  TrainState state;              // behind its last step
  std::vector<Measures> losses;  // of each step: the island's share of those of all replicas
  StepResult broken = {};        // why it did not go on, if it did not
};

/// How many rounds lie behind a state.
int64_t rounds_of(const TrainState& state);

/// A count that a checkpoint keeps as a float; 0 for what is none.
int64_t whole_number(float value);

/// What an island tells of a network in a round, as the job says; copies for other workers included.
size_t bytes_of_round(const job::Job& job, const Network& network);

/// "4 groups of 2 replicas come together every 100 steps, with 12.3 MB each". For people.
std::string rounds_in_words(const job::Job& job, const TrainState& state);

/// Collective, before anything else of a round's end: how the islands fared and what the workers wish, as all see it.
/// `own`: how those of this worker did in `steps` steps; a signal may have broken them off.
StepResult agree_on_round(comm::Group& group, const std::map<int, IslandRound>& own, int64_t steps, StepWish wish);

/// What a round comes to.
struct RoundEnd {
  TrainState state;                 // of all
  std::map<int, IslandState> kept;  // of the islands that this worker carries
  std::vector<Measures> losses;     // of each step, of all replicas
  job::RoundLine told;              // but for its times
};

/// Collective. `begin`: where the round began, with what the islands kept then in `states`; all of `rounds`, those that
/// this worker carries, have gone all its steps.
RoundEnd end_of_round(const job::Job& job, Islands& islands, const TrainState& begin,
                      const std::map<int, IslandRound>& rounds, const IslandStates& states);

}  // namespace linac::train
