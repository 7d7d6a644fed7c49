#pragma once
// What a training on labelled events asks of its test events after an epoch: the measures in inference mode. Spread
// over the replicas like a step, so it does not depend on the workers.

#include <span>
#include <vector>

#include "linac/data/event_table.h"
#include "linac/models/supervised.h"
#include "linac/spec/job.h"
#include "linac/train/measures.h"
#include "linac/train/replica_update.h"

namespace linac::train {

/// Borrows everything.
class FitEvaluation {
 public:
  FitEvaluation(const spec::Job& job, const models::Supervised& model, ReplicaUpdate& replicas);

  /// Collective: all workers call it, and all get the same. Supervised::reported(), and the metrics "auc" that the
  /// model wants: these need the order of all scores, which rank 0 alone collects, each sent once.
  Measures run(const graph::Parameters& parameters, const data::EventTable& table);

 private:
  class Rows;
  void chunk(const graph::Parameters& parameters, const data::EventTable& table, int64_t number,
             std::span<float> measures, Rows& rows) const;

  const spec::Job& job_;
  const models::Supervised& model_;
  ReplicaUpdate& replicas_;
  const int64_t chunk_events_;
};

}  // namespace linac::train
