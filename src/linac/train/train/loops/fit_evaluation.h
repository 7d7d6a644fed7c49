#pragma once
// What a training on labelled events asks of its test events after an epoch: the measures in inference mode. Spread
// over the replicas like a step, so it does not depend on the workers.

#include <span>
#include <vector>

#include "linac/base/job/job.h"
#include "linac/io/data/event_table.h"
#include "linac/model/models/supervised.h"
#include "linac/train/train/exchange/replica_update.h"
#include "linac/train/train/record/measures.h"

namespace linac::train {

/// Borrows everything.
class FitEvaluation {
 public:
  FitEvaluation(const job::Job& job, const models::Supervised& model, ReplicaUpdate& replicas);

  /// Collective: all workers call it, and all get the same. Supervised::reported(), and the metrics over all scores
  /// that the model wants: these need the order of all scores, which rank 0 alone collects, each sent once.
  Measures run(const graph::Parameters& parameters, const data::EventTable& table);

 private:
  class Rows;
  void chunk(const graph::Parameters& parameters, const data::EventTable& table, int64_t number,
             std::span<float> measures, Rows& rows, graph::PartLink* part) const;

  const job::Job& job_;
  const models::Supervised& model_;
  ReplicaUpdate& replicas_;
  const int64_t chunk_events_;
};

}  // namespace linac::train
