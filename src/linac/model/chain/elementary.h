#pragma once
// Logarithm and exponential of floats by polynomials: the same bits on every machine, unlike the C library's, and in
// loops that the compiler vectorises. Pure, thread-safe. The polynomials are those of Moshier's Cephes library (logf,
// expf): relative error below 2e-7.

#include <bit>
#include <cstddef>
#include <cstdint>

namespace linac::chain {

/// Of a normal number above 0.
inline float fast_log(float x) {
  constexpr uint32_t kRootHalf = 0x3f3504f3;  // sqrt(1/2)
  const uint32_t bits = std::bit_cast<uint32_t>(x) - kRootHalf;
  const auto exponent = static_cast<float>(static_cast<int32_t>(bits) >> 23);
  const float m = std::bit_cast<float>((bits & 0x007fffffU) + kRootHalf) - 1;  // in [sqrt(1/2), sqrt 2) - 1
  float p = 7.0376836292e-2F;
  p = p * m - 1.1514610310e-1F;
  p = p * m + 1.1676998740e-1F;
  p = p * m - 1.2420140846e-1F;
  p = p * m + 1.4249322787e-1F;
  p = p * m - 1.6668057665e-1F;
  p = p * m + 2.0000714765e-1F;
  p = p * m - 2.4999993993e-1F;
  p = p * m + 3.3333331174e-1F;
  const float square = m * m;
  return 0.693147180559945F * exponent + (m + (p * m * square - 0.5F * square));
}

/// Of numbers in [-87, 87]; beyond, the value at the border.
inline float fast_exp(float x) {
  constexpr float kBorder = 87;
  x = x < -kBorder ? -kBorder : (x > kBorder ? kBorder : x);
  constexpr float kRound = 12582912.0F;  // 1.5 * 2^23: the sum's last bits are the integer
  const float shifted = x * 1.44269504088896341F + kRound;
  const float n = shifted - kRound;
  const float r = (x - n * 0.693359375F) + n * 2.12194440e-4F;
  float p = 1.9875691500e-4F;
  p = p * r + 1.3981999507e-3F;
  p = p * r + 8.3334519073e-3F;
  p = p * r + 4.1665795894e-2F;
  p = p * r + 1.6666665459e-1F;
  p = p * r + 5.0000001201e-1F;
  const float value = p * r * r + r + 1;
  const uint32_t exponent = std::bit_cast<uint32_t>(shifted) << 23;
  return std::bit_cast<float>(std::bit_cast<uint32_t>(value) + exponent);
}

/// Replaces values by exp(value - largest), and tells their sum. Lanes of 16 add up apart, on every machine.
float exponentials(float* values, size_t count);

}  // namespace linac::chain
