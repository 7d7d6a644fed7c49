#pragma once
// The threads of linac's own kernels. LibTorch's parallel_for would run serially here: it needs OpenMP in the source
// that calls it.

#include "linac/model/kernels/parallel.h"

namespace linac::nn {

/// As many threads as LibTorch is set to, those of the calling thread: kept from call to call.
kernels::Parallel threads();

}  // namespace linac::nn
