#pragma once
// What a training run asks of its test showers after an epoch: losses in inference mode, mean projections and physics
// figures of generated showers beside them. Spread over the replicas like a step, so it does not depend on the workers.

#include <utility>

#include "linac/base/job/job.h"
#include "linac/io/data/dataset.h"
#include "linac/model/models/threedgan/threedgan.h"
#include "linac/physics/physics/projections.h"
#include "linac/train/train/exchange/replica_update.h"
#include "linac/train/train/loops/loop_steps.h"

namespace linac::train {

/// Mean showers in GeV, summed over the test set.
struct TestProjections {
  physics::Projections generated, reference;
};

/// Borrows everything.
class Evaluation {
 public:
  Evaluation(const job::Job& job, const models::threedgan::ThreeDGan& model, ReplicaUpdate& replicas)
      : job_(job), model_(model), replicas_(replicas) {}

  /// Collective: all workers call it, and all get the same. Losses "d_real/...", "d_fake/...", "g/...".
  std::pair<TestResult, TestProjections> run(const graph::Parameters& generator, const graph::Parameters& discriminator,
                                             int64_t epoch, const data::Dataset& dataset, Figures figures);

 private:
  struct Share;
  void chunk(const graph::Parameters& generator, const graph::Parameters& discriminator, int64_t epoch,
             const data::Dataset& dataset, int64_t number, Share& share) const;

  const job::Job& job_;
  const models::threedgan::ThreeDGan& model_;
  ReplicaUpdate& replicas_;
};

}  // namespace linac::train
