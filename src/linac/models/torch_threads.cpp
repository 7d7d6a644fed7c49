#include "linac/models/torch_threads.h"

#include <ATen/Parallel.h>
#include <torch/version.h>

namespace linac::models {

void use_threads(int threads) {
  at::set_num_threads(threads);
}

const char* torch_version() {
  return TORCH_VERSION;
}

}  // namespace linac::models
