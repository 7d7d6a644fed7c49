#pragma once
// Faults made on purpose (train.audit.fault), to see an audit find them: bits that turn over in what one worker
// computes, or in its memory. Thread-safe but for strike().

#include "linac/base/base/rng.h"
#include "linac/base/job/job.h"
#include "linac/model/models/contribution.h"
#include "linac/train/comm/membership/view.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class Fault {
 public:
  explicit Fault(const job::AuditFault& settings) : settings_(settings) {}

  /// Before an update on the worker of this rank: in its memory, once.
  void strike(const comm::View& view, int rank, TrainState& state, size_t network);
  /// Whether what this worker computes in the step is to be spoiled.
  bool spoils(const comm::View& view, int rank, const TrainState& state) const;
  /// The same bit of a replica of a step each time: a processor that errs may do so again. `key`: of that replica;
  /// `network`: that it changes.
  void spoil(const graph::Layout& network, models::Contribution& contribution, RngKey key) const;

 private:
  bool is_due(const comm::View& view, int rank, const TrainState& state) const;

  const job::AuditFault settings_;
  bool has_struck_ = false;
};

}  // namespace linac::train
