#pragma once
// Pieces of computing whose bits are known beforehand, for each instruction set: a core that comes to others errs. Each
// kernel of this module is in one of them, with sizes that leave tails. Pure, thread-safe.

#include <cstdint>
#include <functional>
#include <span>

#include "linac/model/kernels/isa.h"

namespace linac::kernels {

/// Is handed the results of a piece one after the other, and may change them.
using TakeFloats = std::function<void(std::span<float>)>;

struct KnownPiece {
  const char* name;                                  // "GRU and LSTM"
  void (*compute)(Isa isa, const TakeFloats& take);  // on one thread, some milliseconds
  uint64_t fused, generic;                           // the Fingerprint of what it hands over, by isa.h

  uint64_t known(Isa isa) const { return isa == Isa::kGeneric ? generic : fused; }
};

/// A change of a kernel's order of summation changes its numbers: the test tells the new ones.
std::span<const KnownPiece> known_pieces();

}  // namespace linac::kernels
