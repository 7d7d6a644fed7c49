#include "linac/base/base/rng.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

#include "linac/base/base/error.h"

// Integer work only, so every clone gives the same bits; the wider ones are several times faster.
#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_ADDRESS__) && \
    !defined(__SANITIZE_THREAD__)
#define LINAC_INTEGER_CLONES __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define LINAC_INTEGER_CLONES
#endif

namespace linac {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53, kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9, kWeyl1 = 0xBB67AE85;
constexpr int kRounds = 10;
constexpr int kLanes = 16;  // counters computed side by side

LINAC_INTEGER_CLONES
void philox_lanes(const PhiloxSequence& prepared, uint64_t first_block, uint32_t* __restrict__ out) {
  uint32_t c0[kLanes], c1[kLanes], c2[kLanes], c3[kLanes];
  for (int i = 0; i < kLanes; ++i) {
    const uint64_t block = first_block + static_cast<uint64_t>(i);
    c0[i] = static_cast<uint32_t>(block);
    c1[i] = static_cast<uint32_t>(block >> 32);
    c2[i] = prepared.counter[0];
    c3[i] = prepared.counter[1];
  }
  uint32_t k0 = prepared.key[0], k1 = prepared.key[1];
  for (int round = 0; round < kRounds; ++round) {
    for (int i = 0; i < kLanes; ++i) {
      const uint64_t product0 = static_cast<uint64_t>(kMultiplier0) * c0[i];
      const uint64_t product1 = static_cast<uint64_t>(kMultiplier1) * c2[i];
      const uint32_t n0 = static_cast<uint32_t>(product1 >> 32) ^ c1[i] ^ k0;
      const uint32_t n2 = static_cast<uint32_t>(product0 >> 32) ^ c3[i] ^ k1;
      c0[i] = n0;
      c1[i] = static_cast<uint32_t>(product1);
      c2[i] = n2;
      c3[i] = static_cast<uint32_t>(product0);
    }
    k0 += kWeyl0;
    k1 += kWeyl1;
  }
  for (int i = 0; i < kLanes; ++i) {
    out[4 * i] = c0[i];
    out[4 * i + 1] = c1[i];
    out[4 * i + 2] = c2[i];
    out[4 * i + 3] = c3[i];
  }
}

// Calls use(numbers, n, position) for consecutive pieces of the sequence.
template <class Use>
void for_each_piece(const RngKey& key, uint64_t first, size_t size, const Use& use) {
  LINAC_CHECK(first % 4 == 0);
  const PhiloxSequence prepared = philox_sequence(key);
  constexpr size_t kPiece = 4 * kLanes;
  std::array<uint32_t, kPiece> numbers;
  for (size_t done = 0; done < size; done += kPiece) {
    philox_lanes(prepared, (first + done) / 4, numbers.data());
    use(numbers.data(), std::min(kPiece, size - done), done);
  }
}

float to_unit_float(uint32_t bits) {
  return static_cast<float>(bits >> 8) * 0x1p-24F;
}

}  // namespace

// The whole key is hashed by two Philox calls into the 64-bit key and the upper counter words of the sequence, so
// distinct sequences do not overlap (but for a chance of 2^-64 a pair).
PhiloxSequence philox_sequence(const RngKey& key) {
  const std::array<uint32_t, 2> seed{static_cast<uint32_t>(key.seed), static_cast<uint32_t>(key.seed >> 32)};
  const auto first = philox({static_cast<uint32_t>(key.stream), key.lane, key.epoch, key.step}, seed);
  const auto second = philox({key.replica, first[1], first[2], first[3]}, {first[0] ^ seed[0], first[1] ^ seed[1]});
  return {{second[0], second[1]}, {second[2], second[3]}};
}

std::array<uint32_t, 4> philox(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = static_cast<uint64_t>(kMultiplier0) * counter[0];
    const uint64_t product1 = static_cast<uint64_t>(kMultiplier1) * counter[2];
    counter = {static_cast<uint32_t>(product1 >> 32) ^ counter[1] ^ key[0], static_cast<uint32_t>(product1),
               static_cast<uint32_t>(product0 >> 32) ^ counter[3] ^ key[1], static_cast<uint32_t>(product0)};
    key[0] += kWeyl0;
    key[1] += kWeyl1;
  }
  return counter;
}

void fill_bits(const RngKey& key, uint64_t first, std::span<uint32_t> out) {
  for_each_piece(key, first, out.size(), [&](const uint32_t* numbers, size_t n, size_t position) {
    for (size_t i = 0; i < n; ++i) out[position + i] = numbers[i];
  });
}

void fill_uniform(const RngKey& key, std::span<float> out, uint64_t first) {
  for_each_piece(key, first, out.size(), [&](const uint32_t* numbers, size_t n, size_t position) {
    for (size_t i = 0; i < n; ++i) out[position + i] = to_unit_float(numbers[i]);
  });
}

void fill_normal(const RngKey& key, std::span<float> out) {
  for_each_piece(key, 0, out.size(), [&](const uint32_t* numbers, size_t n, size_t position) {
    for (size_t i = 0; i < n; i += 2) {
      // u in (0, 1], so the logarithm is finite.
      const double u = (static_cast<double>(numbers[i]) + 1) * 0x1p-32;
      const double angle = 2 * std::numbers::pi * (static_cast<double>(numbers[i + 1]) * 0x1p-32);
      const double radius = std::sqrt(-2 * std::log(u));
      out[position + i] = static_cast<float>(radius * std::cos(angle));
      if (i + 1 < n) out[position + i + 1] = static_cast<float>(radius * std::sin(angle));
    }
  });
}

void fill_permutation(const RngKey& key, std::span<int64_t> order) {
  for (size_t i = 0; i < order.size(); ++i) order[i] = static_cast<int64_t>(i);
  std::vector<uint32_t> bits(2 * order.size());
  fill_bits(key, 0, bits);
  for (size_t i = order.size(); i > 1; --i) {
    // A 64-bit number modulo i: the bias is below i * 2^-64.
    const uint64_t number = static_cast<uint64_t>(bits[2 * (i - 1)]) << 32 | bits[2 * (i - 1) + 1];
    std::swap(order[i - 1], order[number % i]);
  }
}

}  // namespace linac
