#pragma once
// The most that one core of this processor can do: what a kernel's speed is a share of.

#include "linac/model/kernels/isa.h"

namespace linac::kernels {

/// GFLOP/s of independent fused multiply-adds in registers on the calling thread, the best of a few tries of about 20
/// ms each, by the thread's CPU time. Without fused multiply-add (kGeneric) a multiplication and an addition.
double peak_gflops(Isa isa = best_isa());

}  // namespace linac::kernels
