#pragma once
// What a run of groups that train apart was through, for a training that goes the same way (train.sync.replay): where
// groups began a round anew, since all were lost who had what they kept. All else of it follows from the job.
// Thread-safe.

#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <utility>

namespace linac::train {

/// Groups that began anew, by rollbacks and rounds that were behind then.
using AnewRounds = std::map<std::pair<int, int64_t>, std::set<int>>;

/// Of the record in a run's folder; none for an empty path. User error if there is no record, or it is of other groups.
AnewRounds anew_rounds_of(const std::string& folder, int groups);

}  // namespace linac::train
