#pragma once
// Foreign code (TorchScript, plug-ins) draws from torch's only generator of the process. A turn at it: seeded by a key,
// so that the numbers do not depend on who computes beside whom.

#include <mutex>

#include "linac/base/base/rng.h"

namespace linac::nn {

/// Waits until no other thread has its turn, seeds torch's generator by `key` and keeps it until the end of the scope.
class TorchRandomTurn {
 public:
  explicit TorchRandomTurn(const RngKey& key);

 private:
  std::unique_lock<std::mutex> lock_;
};

}  // namespace linac::nn
