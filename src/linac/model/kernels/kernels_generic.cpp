#include <cstring>

#include "linac/model/kernels/matrix_kernels.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/kernels/pool_kernels.h"
#include "linac/model/kernels/recurrent_kernels.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/kernels/spectral_kernels.h"

namespace linac::kernels {
namespace {

typedef float Vec __attribute__((vector_size(16)));  // four lanes: what every 64-bit processor has
constexpr int kLanes = 4;
constexpr bool kManyRegisters = false;
constexpr int64_t kMaxChannels = 4;

inline Vec load(const float* from) {
  Vec a;
  std::memcpy(&a, from, sizeof a);
  return a;
}
inline Vec in_register(Vec a) {
#if defined(__x86_64__)
  asm("" : "+x"(a));
#elif defined(__aarch64__)
  asm("" : "+w"(a));
#endif
  return a;
}
inline void store(float* to, Vec a) {
  std::memcpy(to, &a, sizeof a);
}
// Half a line or less: streaming past the caches would not pay.
inline void stream(float* to, Vec a) {
  store(to, a);
}
inline void finish_streams() {}
inline Vec broadcast(float a) {
  return Vec{a, a, a, a};
}
inline Vec add(Vec a, Vec b) {
  return a + b;
}
inline Vec subtract(Vec a, Vec b) {
  return a - b;
}
inline Vec multiply(Vec a, Vec b) {
  return a * b;
}
inline Vec multiply_add(Vec a, Vec b, Vec sum) {
  return a * b + sum;
}
inline Vec multiply_subtract(Vec a, Vec b, Vec c) {
  return a * b - c;
}
inline Vec negative_multiply_add(Vec a, Vec b, Vec sum) {
  return sum - a * b;
}

/// x > 0 ? a : b, and lanes of a whose bit is set, others 0.
inline Vec where_positive(Vec x, Vec a, Vec b) {
  Vec result{};
  for (int i = 0; i < kLanes; ++i) result[i] = x[i] > 0 ? a[i] : b[i];
  return result;
}
inline Vec keep(Vec a, unsigned bits) {
  Vec result{};
  for (int i = 0; i < kLanes; ++i) result[i] = (bits >> i & 1) != 0 ? a[i] : 0.0F;
  return result;
}
/// `best` becomes a where a is larger or no number; a bit for each such lane.
inline unsigned take_larger(Vec& best, Vec a) {
  unsigned taken = 0;
  for (int i = 0; i < kLanes; ++i) {
    if (!(a[i] > best[i]) && a[i] == a[i]) continue;
    best[i] = a[i];
    taken |= 1U << i;
  }
  return taken;
}
inline void add_to_doubles(Vec a, double* to) {
  for (int i = 0; i < kLanes; ++i) to[i] += static_cast<double>(a[i]);
}
/// A bit for each of 16 numbers: whether its 16 bits from `shift` on are not below the threshold.
inline uint16_t not_below(const uint32_t* numbers, int shift, uint32_t threshold) {
  unsigned bits = 0;
  for (int i = 0; i < 16; ++i) bits |= static_cast<unsigned>(((numbers[i] >> shift) & 0xFFFF) >= threshold) << i;
  return static_cast<uint16_t>(bits);
}

/// Floats whose upper halves lie at `from`, a rounded to such ones (to nearest, ties to even; NaN stays one), and away.
inline Vec load_upper_halves(const uint16_t* from) {
  uint32_t bits[kLanes];
  for (int i = 0; i < kLanes; ++i) bits[i] = static_cast<uint32_t>(from[i]) << 16;
  Vec a;
  std::memcpy(&a, bits, sizeof a);
  return a;
}
inline Vec rounded_to_upper_half(Vec a) {
  uint32_t bits[kLanes];
  std::memcpy(bits, &a, sizeof a);
  for (int i = 0; i < kLanes; ++i) {
    const bool is_nan = (bits[i] & 0x7FFFFFFF) > 0x7F800000;
    bits[i] = is_nan ? 0x7FC00000 : (bits[i] + 0x7FFF + (bits[i] >> 16 & 1)) & 0xFFFF0000;
  }
  std::memcpy(&a, bits, sizeof a);
  return a;
}
inline void stream_upper_halves(uint16_t* to, Vec a) {
  uint32_t bits[kLanes];
  std::memcpy(bits, &a, sizeof a);
  for (int i = 0; i < kLanes; ++i) to[i] = static_cast<uint16_t>(bits[i] >> 16);
}

inline void block_16(const float* source, int64_t stride, int64_t events, float* blocked) {
  for (int i = 0; i < 16; ++i) {
    for (int event = 0; event < 16; ++event)
      blocked[i * 16 + event] = event < events ? source[event * stride + i] : 0.0F;
  }
}

inline void unblock_16(const float* blocked, int64_t stride, int64_t events, float* target) {
  for (int event = 0; event < events; ++event) {
    for (int i = 0; i < 16; ++i) target[event * stride + i] = blocked[i * 16 + event];
  }
}

/// blocked[i][r] = rows[r][first + i], i < 16.
inline void block_rows_16(const float* const* rows, int64_t first, float* blocked) {
  for (int i = 0; i < 16; ++i) {
    for (int r = 0; r < 16; ++r) blocked[i * 16 + r] = rows[r][first + i];
  }
}

// For recurrent_kernels-inl.h. A NaN in b stays one.
inline Vec minimum(Vec a, Vec b) {
  Vec result{};
  for (int i = 0; i < kLanes; ++i) result[i] = a[i] < b[i] ? a[i] : b[i];
  return result;
}
inline Vec maximum(Vec a, Vec b) {
  Vec result{};
  for (int i = 0; i < kLanes; ++i) result[i] = a[i] > b[i] ? a[i] : b[i];
  return result;
}
typedef uint32_t Bits __attribute__((vector_size(16)));
/// a * 2^n, n the integer in the last bits of b.
inline Vec times_power_of_two(Vec a, Vec b) {
  return reinterpret_cast<Vec>(reinterpret_cast<Bits>(a) + (reinterpret_cast<Bits>(b) << 23));
}
/// 1 / a within 5 %, for positive a.
inline Vec reciprocal_guess(Vec a) {
  return reinterpret_cast<Vec>(uint32_t{0x7EF311C7} - reinterpret_cast<Bits>(a));
}

}  // namespace
}  // namespace linac::kernels

#include "linac/model/kernels/matrix_kernels-inl.h"
#include "linac/model/kernels/plane_kernels-inl.h"
#include "linac/model/kernels/pool_kernels-inl.h"
#include "linac/model/kernels/recurrent_kernels-inl.h"
#include "linac/model/kernels/row_kernels-inl.h"
#include "linac/model/kernels/spectral_kernels-inl.h"

namespace linac::kernels {

extern const MatrixKernels kGenericMatrixKernels;
const MatrixKernels kGenericMatrixKernels = kMatrices;

extern const PlaneKernels kGenericPlaneKernels;
const PlaneKernels kGenericPlaneKernels = kKernels;

extern const PoolKernels kGenericPoolKernels;
const PoolKernels kGenericPoolKernels = kPools;

extern const RecurrentKernels kGenericRecurrentKernels;
const RecurrentKernels kGenericRecurrentKernels = kRecurrent;

extern const RowKernels kGenericRowKernels;
const RowKernels kGenericRowKernels = kRows;

extern const SpectralKernels kGenericSpectralKernels;
const SpectralKernels kGenericSpectralKernels = kSpectral;

}  // namespace linac::kernels
