#pragma once
// Many jobs of a site as one: where it can do that, it is asked once, and each member is a launch of its own from then
// on, with its record, its folder and its label ARRAY-INDEX. Functions that may be called from several processes at the
// same time.

#include <string>
#include <vector>

#include "linac/control/sites/launching.h"

namespace linac::sites {

inline constexpr int kArrayMax = 1000;  // Slurm's own limit, where nobody has raised it (MaxArraySize)

struct ArrayWishes {
  std::vector<std::string> jobs;  // paths of job files
  std::string seeds;              // "1:20", of each job; empty: as the job says
  int at_once = 0;                // so many members at most run at the same time; 0: any number
  Wishes each;                    // of all members; `job` is not looked at, `name` is the array's
};

/// User error for what can be none there: more than kArrayMax, or members that differ in workers.
Array make_array(const Site& site, const ArrayWishes& wishes);

/// As start() of launching.h, for all members together: what a client that died has begun goes on, and is submitted
/// once.
std::vector<Started> start_array(const Site& site, Array array, bool named);

}  // namespace linac::sites
