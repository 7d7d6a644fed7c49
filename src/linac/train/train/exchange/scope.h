#pragma once
// Which replicas come together in an update: all of them, or those of one island (local/islands.h).

#include <vector>

#include "linac/train/comm/group.h"
#include "linac/train/comm/replica_sum.h"

namespace linac::train {

struct ReplicaScope {
  comm::Group* group;      // of the workers that carry them
  std::vector<int> owned;  // those that this worker carries, by their numbers in the job
  comm::ReplicaSum sum;    // over all of them, in `group`
};

}  // namespace linac::train
