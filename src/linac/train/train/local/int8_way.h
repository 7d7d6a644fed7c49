#pragma once
// An island's way in a byte a weight, for slow links: blocks of weights share a scale, and what rounding leaves out is
// added to the next round's way (error feedback; Seide et al., Interspeech 2014; Karimireddy et al., arXiv:1901.09847).
// Pure, thread-safe.

#include <cstddef>
#include <span>
#include <vector>

namespace linac::train {

/// Bytes of `floats` values: a scale of four bytes for each block, and a byte for each value.
size_t int8_bytes(size_t floats);

/// `way` plus `left_out` in bytes; `left_out` becomes what they lack of it. Both of the same size.
std::vector<std::byte> to_int8(std::span<const float> way, std::span<float> left_out);

/// The values that such bytes stand for. Sizes must fit.
void from_int8(std::span<const std::byte> bytes, std::span<float> way);

}  // namespace linac::train
