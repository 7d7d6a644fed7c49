#include "linac/model/nn/torch_random.h"

#include <ATen/CPUGeneratorImpl.h>

namespace linac::nn {
namespace {

std::mutex& generator_mutex() {
  static std::mutex mutex;
  return mutex;
}

}  // namespace

TorchRandomTurn::TorchRandomTurn(const RngKey& key) : lock_(generator_mutex()) {
  uint32_t bits[2];
  fill_bits(key, 0, bits);
  at::manual_seed((static_cast<uint64_t>(bits[0]) << 32) | bits[1]);
}

}  // namespace linac::nn
