#pragma once
// Faults made on purpose (train.audit.fault), to see them found: bits that turn over in what one worker reads,
// computes, receives or writes, or in its memory. Thread-safe but for strike().

#include <functional>
#include <span>

#include "linac/base/base/rng.h"
#include "linac/base/job/job.h"
#include "linac/model/models/contribution.h"
#include "linac/train/comm/membership/view.h"
#include "linac/train/train/state/state.h"

namespace linac::train {

class Fault {
 public:
  using Place = job::FaultPlace;

  explicit Fault(const job::AuditFault& settings) : settings_(settings), place_(job::fault_place(settings.in)) {}

  /// Whether the worker of this rank errs at that place, behind so many steps.
  bool is_due(Place place, const comm::View& view, int rank, int64_t global_step) const;

  /// Before an update on the worker of this rank: in its memory, once.
  void strike(const comm::View& view, int rank, TrainState& state, size_t network);
  /// What a worker makes of a replica that errs in its activations or its gradient. The same bit of a replica of a step
  /// each time: a processor that errs may do so again. `key`: of that replica; `network`: that it changes; `compute`
  /// gives all of the gradient.
  models::Contribution spoiled(const graph::Layout& network, const RngKey& key,
                               const std::function<models::Contribution()>& compute) const;

 private:
  const job::AuditFault settings_;
  const Place place_;
  bool has_struck_ = false;
};

/// Turns over a bit of the values of a weight; between them lie gaps.
void turn_a_bit(const graph::Layout& layout, std::span<float> values, const RngKey& key);
/// What the bits of faults follow from, by the key of a replica.
RngKey fault_key(RngKey key);

}  // namespace linac::train
