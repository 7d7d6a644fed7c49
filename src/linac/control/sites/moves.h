#pragma once
// A job with a deadline that moves between two sites: one whose machines may be taken away (spot), and one where they
// stay (on demand). Where it runs is the policy's to say (base/plan/spot.h); how it ends and goes on are those of
// launches: each stay is one, NAME-1, NAME-2 and so on, at one of the two, with the same run's folder. What is done is
// counted by the clock: a stay trains from a recovery after it runs until it ends, and one that was lost has lost the
// work between two checkpoints.
//
// What was decided is written down before it is done ($XDG_STATE_HOME/linac/moves/NAME.json), and a stay begins when
// the one before has ended. So whoever follows may be killed at any time, and the same call goes on. One process
// follows at a time.

#include <functional>
#include <string>

#include "linac/base/plan/spot.h"
#include "linac/control/sites/launching.h"

namespace linac::sites {

struct MoveWishes {
  Wishes each;                  // with a name, and a folder that both sites reach
  std::string spot, on_demand;  // sites
  plan::SpotJob job;
};

/// Follows until the job has come to an end, and says how; a signal asks to stop following (base/base/signals.h), which
/// leaves it where it is: then the state is no end. `tell`: a line for whoever watches. User error if the name is
/// another job's, or somebody follows it already.
Standing follow_moves(const MoveWishes& wishes, const std::function<void(const std::string&)>& tell);

}  // namespace linac::sites
