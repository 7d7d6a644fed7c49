#pragma once
// The one message of an update: everything its workers must agree on, in one buffer that is added up over the replicas.
// A value; one thread at a time.

#include <cstddef>
#include <span>

#include "linac/base/base/aligned.h"
#include "linac/model/graph/parameters.h"
#include "linac/model/models/contribution.h"

namespace linac::train {

/// What this worker wishes beside the update; all workers see the wishes of all.
struct Wishes {
  bool stop = false;       // that all stop
  bool leave = false;      // to leave the others
  bool save = false;       // that a checkpoint is written
  bool enough = false;     // that all stop, as the budget is used up
  bool next_view = false;  // newcomers wait, or replicas are to move
};

struct Message {
  enum Flag : size_t {
    kEmptyReplicas,
    kBrokenReplicas,
    kStopWanted,
    kLeaving,
    kSaveWanted,
    kEnough,
    kNextViewWanted,
    kFlags
  };

  Message() = default;
  Message(const graph::Parameters& parameters, size_t losses);
  /// Whether it is one of such an update.
  bool fits(const graph::Parameters& parameters, size_t losses) const;

  std::span<float> gradient() { return std::span(values).first(gradient_size); }
  std::span<float> statistics() { return std::span(values).subspan(gradient_size, statistics_size); }
  std::span<float> losses() { return std::span(values).subspan(gradient_size + statistics_size, losses_size); }
  float& flag(Flag which) { return values[gradient_size + statistics_size + losses_size + which]; }
  /// What lies behind the gradient.
  size_t tail() const { return values.size() - gradient_size; }

  /// One replica's of `replicas`, all of it. A gradient that was told before is left as it is: parts of it are sums by
  /// now.
  void fill(const models::Contribution& contribution, bool gradient_told, int replicas, const Wishes& wishes);

  size_t gradient_size = 0, statistics_size = 0, losses_size = 0;
  AlignedFloats values;
};

}  // namespace linac::train
