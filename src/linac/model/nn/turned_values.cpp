#include "linac/model/nn/turned_values.h"

#include <array>

#include "linac/base/base/turned_bit.h"
#include "linac/model/graph/turned_activation.h"

namespace linac::nn {

TurnedValues::TurnedValues(size_t layers) : key_(graph::TurnedActivation::of_thread()) {
  if (!key_) return;
  std::array<uint32_t, 4> drawn{};
  fill_bits(*key_, 0, drawn);
  first_ = drawn[3] % layers;
}

void TurnedValues::see(size_t layer, at::Tensor& values) {
  if (!key_ || layer < first_ || !values.is_floating_point() || !values.is_cpu() || values.numel() == 0) return;
  values = values.clone(at::MemoryFormat::Contiguous);  // others may read the same memory
  turn_a_bit({static_cast<std::byte*>(values.data_ptr()), values.nbytes()}, *key_);
  key_.reset();
}

}  // namespace linac::nn
