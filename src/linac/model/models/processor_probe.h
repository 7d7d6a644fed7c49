#pragma once
// What this processor computes for fixed numbers. LibTorch and the libraries underneath choose their kernels by the
// processor, also among those of one instruction set, and with the kernels the last bits.

#include <string>

namespace linac::models {

/// The bits of products, convolutions with their gradients, functions and sums, on one thread: equal texts, the same
/// bits for all that is tried. Some milliseconds. For its time it sets use_threads(1): beside other computing only where
/// that stands already.
std::string processor_probe();

}  // namespace linac::models
