#pragma once
// Which state of a run is meant where a run is named. Pure, thread-safe.

#include <string>

namespace linac::job {

/// "runs/a@best" as its parts. `which`: "best", by checkpoint.best_by; "last", the newest checkpoint; "epoch=3", that
/// behind the third epoch; empty for the run as it is, or a file. Any other word behind an @ belongs to the name.
struct RunChoice {
  std::string run, which;
};
RunChoice split_choice(const std::string& name);

/// The number in "epoch=3"; 0 for other words.
int epoch_in(const std::string& which);

}  // namespace linac::job
