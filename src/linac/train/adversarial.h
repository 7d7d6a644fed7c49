#pragma once
// The adversarial step of a job, spread over the workers: each computes its replicas, sums go through the fixed tree,
// every worker applies the same update. What comes out depends on (state, seed, position, replicas) and never on the
// number of workers. Every member function is collective: all workers call it in the same order.

#include <memory>
#include <string>
#include <vector>

#include "linac/base/thread_pool.h"
#include "linac/comm/group.h"
#include "linac/comm/replica_sum.h"
#include "linac/data/dataset.h"
#include "linac/models/threedgan/threedgan.h"
#include "linac/spec/job.h"
#include "linac/train/evaluation.h"
#include "linac/train/phase_clock.h"
#include "linac/train/state.h"

namespace linac::train {

/// Why a step was not (wholly) applied. All workers see the same.
enum class Health { kGood, kNotFinite, kEmpty };

struct StepResult {
  Health health = Health::kGood;
  std::string where;            // the phase that failed
  LossTable losses;             // "d_real", "d_fake", "g" (mean of the two generator updates)
  bool stop_requested = false;  // some worker was asked to stop
};

class AdversarialStep {
 public:
  /// `concurrency`: replicas computed side by side on this worker.
  AdversarialStep(const spec::Job& job, const models::threedgan::ThreeDGan& model, comm::Group& group, int concurrency,
                  PhaseClock& clock);

  /// `batches`: one a replica of this worker, in their order. Changes `state`'s weights, optimisers and statistics (not
  /// its position).
  StepResult run(TrainState& state, const std::vector<data::SampleBatch>& batches, double learning_rate,
                 bool stop_wanted);

  /// See Evaluation.
  TestResult test(const TrainState& state, const data::Dataset& dataset, Figures figures);

  const std::vector<int>& owned() const { return owned_; }

 private:
  struct Message;
  using ReplicaFunction = std::function<models::threedgan::Contribution(size_t owned_index)>;

  /// Computes one phase on all replicas, reduces, updates `network`; returns false (and fills result) if the phase
  /// failed.
  bool phase(const std::string& name, Network& network, double learning_rate, const ReplicaFunction& compute,
             StepResult& result);
  models::threedgan::ThreeDGan::StepOptions options(const TrainState& state, int replica) const;

  const spec::Job& job_;
  const models::threedgan::ThreeDGan& model_;
  comm::Group& group_;
  std::vector<int> owned_;
  comm::ReplicaSum sum_;
  ThreadPool pool_;
  PhaseClock& clock_;
  bool stop_wanted_ = false;
};

}  // namespace linac::train
