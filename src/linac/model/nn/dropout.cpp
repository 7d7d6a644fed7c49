#include "linac/model/nn/dropout.h"

#include <cmath>
#include <vector>

namespace linac::nn {
namespace {

constexpr int kDrawShift = 40;  // a draw has 2^40 numbers

}  // namespace

// Each random word decides two elements, with 16 bits each; an event begins with a block of Philox of its own.
at::Tensor draw_kept(const RngKey& key, double rate, int64_t events, int64_t cells, uint64_t draw) {
  at::Tensor mask = at::empty({events, cells}, at::kFloat);
  float* value = mask.mutable_data_ptr<float>();
  const auto count = static_cast<size_t>(cells), words = (count + 7) / 8 * 4;
  std::vector<uint32_t> bits(words);
  const auto threshold = static_cast<uint32_t>(std::lround(rate * 65536));
  const auto kept = static_cast<float>(1 / (1 - rate));
  for (int64_t event = 0; event < events; ++event) {
    fill_bits(key, (draw << kDrawShift) + static_cast<uint64_t>(event) * words, bits);
    for (size_t i = 0; i < count; ++i) {
      const uint32_t number = (bits[i / 2] >> (16 * (i % 2))) & 0xFFFF;
      *value++ = number < threshold ? 0.0F : kept;
    }
  }
  return mask;
}

at::Tensor draw_uniform(const RngKey& key, int64_t events, uint64_t draw) {
  at::Tensor numbers = at::empty({events}, at::kFloat);
  fill_uniform(key, {numbers.mutable_data_ptr<float>(), static_cast<size_t>(events)}, draw << kDrawShift);
  return numbers;
}

}  // namespace linac::nn
