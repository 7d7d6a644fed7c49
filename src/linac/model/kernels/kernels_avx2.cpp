#include <immintrin.h>

#include "linac/model/kernels/matrix_kernels.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/kernels/pool_kernels.h"
#include "linac/model/kernels/recurrent_kernels.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/kernels/spectral_kernels.h"

namespace linac::kernels {
namespace {

using Vec = __m256;
constexpr int kLanes = 8;
constexpr bool kManyRegisters = false;
constexpr int64_t kMaxChannels = 4;  // of a tile: 12 sums, the cells beside them and a weight fill 16 registers

inline Vec load(const float* from) {
  return _mm256_loadu_ps(from);
}
// Without it the compiler reads the same operand from memory for each use, and the load ports become the limit.
inline Vec in_register(Vec a) {
  asm("" : "+x"(a));
  return a;
}
inline void store(float* to, Vec a) {
  _mm256_storeu_ps(to, a);
}
// Half a line or less: streaming past the caches would not pay.
inline void stream(float* to, Vec a) {
  store(to, a);
}
inline void finish_streams() {}
inline Vec broadcast(float a) {
  return _mm256_set1_ps(a);
}
inline Vec add(Vec a, Vec b) {
  return _mm256_add_ps(a, b);
}
inline Vec subtract(Vec a, Vec b) {
  return _mm256_sub_ps(a, b);
}
inline Vec multiply(Vec a, Vec b) {
  return _mm256_mul_ps(a, b);
}
inline Vec multiply_add(Vec a, Vec b, Vec sum) {
  return _mm256_fmadd_ps(a, b, sum);
}
inline Vec multiply_subtract(Vec a, Vec b, Vec c) {
  return _mm256_fmsub_ps(a, b, c);
}
inline Vec negative_multiply_add(Vec a, Vec b, Vec sum) {
  return _mm256_fnmadd_ps(a, b, sum);
}

/// x > 0 ? a : b, and lanes of a whose bit is set, others 0.
inline Vec where_positive(Vec x, Vec a, Vec b) {
  return _mm256_blendv_ps(b, a, _mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_GT_OQ));
}
inline Vec keep(Vec a, unsigned bits) {
  const __m256i lane = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
  const __m256i set = _mm256_and_si256(_mm256_set1_epi32(static_cast<int>(bits)), lane);
  return _mm256_and_ps(a, _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, lane)));
}
/// `best` becomes a where a is larger or no number; a bit for each such lane.
inline unsigned take_larger(Vec& best, Vec a) {
  const __m256 taken = _mm256_or_ps(_mm256_cmp_ps(a, best, _CMP_GT_OQ), _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
  best = _mm256_blendv_ps(best, a, taken);
  return static_cast<unsigned>(_mm256_movemask_ps(taken));
}
inline void add_to_doubles(Vec a, double* to) {
  const __m256d low = _mm256_cvtps_pd(_mm256_castps256_ps128(a)), high = _mm256_cvtps_pd(_mm256_extractf128_ps(a, 1));
  _mm256_storeu_pd(to, _mm256_add_pd(_mm256_loadu_pd(to), low));
  _mm256_storeu_pd(to + 4, _mm256_add_pd(_mm256_loadu_pd(to + 4), high));
}
/// A bit for each of 16 numbers: whether its 16 bits from `shift` on are not below the threshold.
inline uint16_t not_below(const uint32_t* numbers, int shift, uint32_t threshold) {
  unsigned bits = 0;
  for (int i = 0; i < 16; ++i) bits |= static_cast<unsigned>(((numbers[i] >> shift) & 0xFFFF) >= threshold) << i;
  return static_cast<uint16_t>(bits);
}

/// Floats whose upper halves lie at `from`, a rounded to such ones (to nearest, ties to even; NaN stays one), and away.
inline Vec load_upper_halves(const uint16_t* from) {
  const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(from));
  return _mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16));
}
inline Vec rounded_to_upper_half(Vec a) {
  const __m256i bits = _mm256_castps_si256(a);
  const __m256i odd = _mm256_and_si256(_mm256_srli_epi32(bits, 16), _mm256_set1_epi32(1));
  const __m256i up = _mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7FFF)), odd);
  const __m256i cut = _mm256_and_si256(up, _mm256_set1_epi32(static_cast<int>(0xFFFF0000)));
  const __m256 quiet = _mm256_castsi256_ps(_mm256_set1_epi32(0x7FC00000));
  return _mm256_blendv_ps(_mm256_castsi256_ps(cut), quiet, _mm256_cmp_ps(a, a, _CMP_UNORD_Q));
}
inline void stream_upper_halves(uint16_t* to, Vec a) {
  const __m256i halves = _mm256_srli_epi32(_mm256_castps_si256(a), 16);
  const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(halves, halves), 0x08);
  _mm_storeu_si128(reinterpret_cast<__m128i*>(to), _mm256_castsi256_si128(packed));
}

// Rows of the target from target_rows on are not written.
inline void transpose_8(const Vec rows[8], float* target, int64_t target_stride, int64_t target_rows) {
  Vec pairs[8], quads[8];
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    pairs[2 * r] = _mm256_unpacklo_ps(rows[2 * r], rows[2 * r + 1]);
    pairs[2 * r + 1] = _mm256_unpackhi_ps(rows[2 * r], rows[2 * r + 1]);
  }
#pragma GCC unroll 2
  for (int half = 0; half < 2; ++half) {
#pragma GCC unroll 2
    for (int r = 0; r < 2; ++r) {
      const Vec a = pairs[4 * half + r], b = pairs[4 * half + r + 2];
      quads[4 * half + 2 * r] = _mm256_shuffle_ps(a, b, 0x44);
      quads[4 * half + 2 * r + 1] = _mm256_shuffle_ps(a, b, 0xEE);
    }
  }
#pragma GCC unroll 4
  for (int r = 0; r < 4; ++r) {
    if (r < target_rows) store(target + r * target_stride, _mm256_permute2f128_ps(quads[r], quads[r + 4], 0x20));
    if (r + 4 < target_rows)
      store(target + (r + 4) * target_stride, _mm256_permute2f128_ps(quads[r], quads[r + 4], 0x31));
  }
}

// Rows of the source from source_rows on count as zeros.
void transpose_8(const float* source, int64_t source_stride, int64_t source_rows, float* target, int64_t target_stride,
                 int64_t target_rows) {
  Vec rows[8];
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r) rows[r] = r < source_rows ? load(source + r * source_stride) : broadcast(0.0F);
  transpose_8(rows, target, target_stride, target_rows);
}

inline void block_16(const float* source, int64_t stride, int64_t events, float* blocked) {
  for (int i = 0; i < 16; i += 8) {
    for (int event = 0; event < 16; event += 8)
      transpose_8(source + event * stride + i, stride, events - event, blocked + i * 16 + event, 16, 8);
  }
}

inline void unblock_16(const float* blocked, int64_t stride, int64_t events, float* target) {
  for (int i = 0; i < 16; i += 8) {
    for (int event = 0; event < 16; event += 8)
      transpose_8(blocked + i * 16 + event, 16, 8, target + event * stride + i, stride, events - event);
  }
}

/// blocked[i][r] = rows[r][first + i], i < 16.
inline void block_rows_16(const float* const* rows, int64_t first, float* blocked) {
  for (int64_t i = 0; i < 16; i += 8) {
    for (int64_t event = 0; event < 16; event += 8) {
      Vec eight[8];
#pragma GCC unroll 8
      for (int64_t r = 0; r < 8; ++r) eight[r] = load(rows[event + r] + first + i);
      transpose_8(eight, blocked + i * 16 + event, 16, 8);
    }
  }
}

// For recurrent_kernels-inl.h. A NaN in b stays one.
inline Vec minimum(Vec a, Vec b) {
  return _mm256_min_ps(a, b);
}
inline Vec maximum(Vec a, Vec b) {
  return _mm256_max_ps(a, b);
}
/// a * 2^n, n the integer in the last bits of b.
inline Vec times_power_of_two(Vec a, Vec b) {
  return _mm256_castsi256_ps(_mm256_add_epi32(_mm256_castps_si256(a), _mm256_slli_epi32(_mm256_castps_si256(b), 23)));
}
/// 1 / a within 5 %, for positive a.
inline Vec reciprocal_guess(Vec a) {
  return _mm256_castsi256_ps(_mm256_sub_epi32(_mm256_set1_epi32(0x7EF311C7), _mm256_castps_si256(a)));
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

extern const MatrixKernels kAvx2MatrixKernels;
const MatrixKernels kAvx2MatrixKernels = kMatrices;

extern const PlaneKernels kAvx2PlaneKernels;
const PlaneKernels kAvx2PlaneKernels = kKernels;

extern const PoolKernels kAvx2PoolKernels;
const PoolKernels kAvx2PoolKernels = kPools;

extern const RecurrentKernels kAvx2RecurrentKernels;
const RecurrentKernels kAvx2RecurrentKernels = kRecurrent;

extern const RowKernels kAvx2RowKernels;
const RowKernels kAvx2RowKernels = kRows;

extern const SpectralKernels kAvx2SpectralKernels;
const SpectralKernels kAvx2SpectralKernels = kSpectral;

}  // namespace linac::kernels
