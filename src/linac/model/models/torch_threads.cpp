#include "linac/model/models/torch_threads.h"

#include <ATen/ATen.h>
#include <ATen/Parallel.h>
#include <ATen/core/grad_mode.h>
#include <torch/version.h>

#include <mutex>

namespace linac::models {
namespace {

// MKL, VML and oneDNN find out at their first call which CPU this is. When two threads make that call at once, one may
// be served by the kernels of another instruction set, with other last bits.
void make_first_calls() {
  const at::NoGradGuard no_gradient;
  const at::Tensor square = at::ones({64, 64}), image = at::ones({2, 2, 8, 8, 8}), kernel = at::ones({2, 2, 4, 4, 4});
  at::mm(square, square.t());
  at::mv(square, square.select(0, 0));
  at::conv3d(image, kernel);
  at::log(at::exp(at::sigmoid(at::pow(square, 0.85))));
}

}  // namespace

void use_threads(int threads) {
  at::set_num_threads(threads);
  static std::once_flag first_calls;
  std::call_once(first_calls, make_first_calls);
}

const char* torch_version() {
  return TORCH_VERSION;
}

}  // namespace linac::models
