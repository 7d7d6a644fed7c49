#pragma once
// models::Kernels for nn, which knows nothing of jobs.

#include "linac/models/kernels.h"
#include "linac/nn/executable.h"

namespace linac::models::threedgan {

inline nn::Kernels nn_kernels(Kernels kernels) {
  return kernels == Kernels::kLinac ? nn::Kernels::kLinac : nn::Kernels::kAten;
}

}  // namespace linac::models::threedgan
