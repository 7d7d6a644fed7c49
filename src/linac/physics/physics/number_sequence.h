#pragma once
// Random numbers of one key one after the other, for where it is not known beforehand how many are needed. The same key
// gives the same sequence anywhere. One thread at a time.

#include <array>
#include <cstdint>

#include "linac/base/base/rng.h"

namespace linac::physics {

class NumberSequence {
 public:
  explicit NumberSequence(const RngKey& key) : key_(key) {}

  /// Uniform in (0, 1), 32 bits.
  double uniform();
  /// Standard normal, by Box and Muller.
  double normal();
  /// Gamma distributed with mean and variance `shape` > 0: Marsaglia and Tsang, "A simple method for generating gamma
  /// variables", ACM Trans. Math. Softw. 26 (2000) 363.
  double gamma(double shape);

 private:
  RngKey key_;
  std::array<uint32_t, 64> block_ = {};
  size_t next_ = block_.size();
  uint64_t position_ = 0;
};

}  // namespace linac::physics
