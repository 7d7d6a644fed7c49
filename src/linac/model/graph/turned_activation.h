#pragma once
// A fault made on purpose: a bit of the values between two layers turns over, to see an audit find it
// (train/train/audit/fault.h). Thread-safe: each thread has its own.

#include <optional>

#include "linac/base/base/rng.h"

namespace linac::graph {

/// While it lives, a bit turns over in each forward pass of the calling thread; where, follows from `key`.
class TurnedActivation {
 public:
  explicit TurnedActivation(const RngKey& key);
  ~TurnedActivation();
  TurnedActivation(const TurnedActivation&) = delete;
  TurnedActivation& operator=(const TurnedActivation&) = delete;

  /// Of the calling thread; nothing: no bit is to turn over.
  static const std::optional<RngKey>& of_thread();

 private:
  std::optional<RngKey> before_;
};

}  // namespace linac::graph
