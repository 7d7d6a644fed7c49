#pragma once
// What a training run asks of its test showers after an epoch: losses in inference mode, mean projections and physics
// figures of generated showers beside them. Spread over the replicas like a step, so it does not depend on the workers.

#include <map>
#include <span>
#include <string>
#include <vector>

#include "linac/base/thread_pool.h"
#include "linac/comm/replica_sum.h"
#include "linac/data/dataset.h"
#include "linac/models/threedgan/threedgan.h"
#include "linac/physics/projections.h"
#include "linac/spec/job.h"
#include "linac/train/state.h"

namespace linac::train {

struct TestResult {
  LossTable losses;                            // "d_real", "d_fake", "g": means over the set
  physics::Projections generated, reference;   // GeV, summed over the set
  std::map<std::string, double> physics;       // figures, if they were due
  std::vector<std::string> signs_of_collapse;  // as physics sees it
};

enum class Figures { kNone, kWanted };

/// Borrows everything.
class Evaluation {
 public:
  /// `owned`: the replicas of this worker.
  Evaluation(const spec::Job& job, const models::threedgan::ThreeDGan& model, ThreadPool& pool, comm::ReplicaSum& sum,
             std::span<const int> owned)
      : job_(job), model_(model), pool_(pool), sum_(sum), owned_(owned) {}

  /// Collective: all workers call it, and all get the same.
  TestResult run(const TrainState& state, const data::Dataset& dataset, Figures figures);

 private:
  struct Share;
  void chunk(const TrainState& state, const data::Dataset& dataset, int64_t number, Share& share) const;

  const spec::Job& job_;
  const models::threedgan::ThreeDGan& model_;
  ThreadPool& pool_;
  comm::ReplicaSum& sum_;
  std::span<const int> owned_;
};

}  // namespace linac::train
