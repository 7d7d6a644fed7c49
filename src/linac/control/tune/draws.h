#pragma once
// Random numbers of one suggestion: a sequence of base/base/rng.h by (seed, trial number, attempt, use). Doubles of 53
// bits, drawn one after the other. Used by one thread.

#include <array>
#include <cstddef>
#include <cstdint>

#include "linac/base/base/rng.h"

namespace linac::tune {

/// Which suggestion is asked for.
struct Ask {
  uint64_t seed = 0;
  int64_t number = 0;    // of the trial
  uint32_t attempt = 0;  // above 0: the suggestions before were refused
};

class Draws {
 public:
  /// `use` separates sequences of one suggestion. Never renumber.
  Draws(const Ask& ask, uint32_t use);

  uint32_t bits();
  /// In [0, 1).
  double uniform();
  /// Standard normal, by the inverse of its distribution.
  double normal();
  /// 0 ... n-1.
  size_t below(size_t n);

 private:
  RngKey key_;
  uint64_t next_ = 0;
  std::array<uint32_t, 64> ready_{};
};

}  // namespace linac::tune
