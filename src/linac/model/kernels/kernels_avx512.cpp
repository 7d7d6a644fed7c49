#include <immintrin.h>

#include "linac/model/kernels/matrix_kernels.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/kernels/pool_kernels.h"
#include "linac/model/kernels/recurrent_kernels.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/kernels/spectral_kernels.h"

namespace linac::kernels {
namespace {

using Vec = __m512;
constexpr int kLanes = 16;
constexpr bool kManyRegisters = true;
constexpr int64_t kMaxChannels = 8;  // of a tile: 24 sums, the cells beside them and a weight fill 32 registers

inline Vec load(const float* from) {
  return _mm512_loadu_ps(from);
}
// Without it the compiler reads the same operand from memory for each use, and the load ports become the limit.
inline Vec in_register(Vec a) {
  asm("" : "+v"(a));
  return a;
}
inline void store(float* to, Vec a) {
  _mm512_storeu_ps(to, a);
}
// Past the caches, for results that are read much later: a whole line at once, so it need not be fetched first.
inline void stream(float* to, Vec a) {
  _mm512_stream_ps(to, a);
}
inline void finish_streams() {
  _mm_sfence();
}
inline Vec broadcast(float a) {
  return _mm512_set1_ps(a);
}
inline Vec add(Vec a, Vec b) {
  return _mm512_add_ps(a, b);
}
inline Vec subtract(Vec a, Vec b) {
  return _mm512_sub_ps(a, b);
}
inline Vec multiply(Vec a, Vec b) {
  return _mm512_mul_ps(a, b);
}
inline Vec multiply_add(Vec a, Vec b, Vec sum) {
  return _mm512_fmadd_ps(a, b, sum);
}
inline Vec multiply_subtract(Vec a, Vec b, Vec c) {
  return _mm512_fmsub_ps(a, b, c);
}
inline Vec negative_multiply_add(Vec a, Vec b, Vec sum) {
  return _mm512_fnmadd_ps(a, b, sum);
}

/// x > 0 ? a : b, and lanes of a whose bit is set, others 0.
inline Vec where_positive(Vec x, Vec a, Vec b) {
  return _mm512_mask_blend_ps(_mm512_cmp_ps_mask(x, _mm512_setzero_ps(), _CMP_GT_OQ), b, a);
}
inline Vec keep(Vec a, unsigned bits) {
  return _mm512_maskz_mov_ps(static_cast<__mmask16>(bits), a);
}
/// `best` becomes a where a is larger or no number; a bit for each such lane.
inline unsigned take_larger(Vec& best, Vec a) {
  const __mmask16 taken = _mm512_cmp_ps_mask(a, best, _CMP_GT_OQ) | _mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q);
  best = _mm512_mask_mov_ps(best, taken, a);
  return taken;
}
inline void add_to_doubles(Vec a, double* to) {
  const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(a));
  const __m512d high = _mm512_cvtps_pd(_mm256_castpd_ps(_mm512_extractf64x4_pd(_mm512_castps_pd(a), 1)));
  _mm512_storeu_pd(to, _mm512_add_pd(_mm512_loadu_pd(to), low));
  _mm512_storeu_pd(to + 8, _mm512_add_pd(_mm512_loadu_pd(to + 8), high));
}
/// A bit for each of 16 numbers: whether its 16 bits from `shift` on are not below the threshold.
inline uint16_t not_below(const uint32_t* numbers, int shift, uint32_t threshold) {
  const __m512i half = _mm512_and_si512(_mm512_srl_epi32(_mm512_loadu_si512(numbers), _mm_cvtsi32_si128(shift)),
                                        _mm512_set1_epi32(0xFFFF));
  return _mm512_cmpge_epu32_mask(half, _mm512_set1_epi32(static_cast<int>(threshold)));
}

/// Floats whose upper halves lie at `from`, a rounded to such ones (to nearest, ties to even; NaN stays one), and away.
inline Vec load_upper_halves(const uint16_t* from) {
  const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(from));
  return _mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16));
}
inline Vec rounded_to_upper_half(Vec a) {
  const __m512i bits = _mm512_castps_si512(a);
  const __m512i odd = _mm512_and_si512(_mm512_srli_epi32(bits, 16), _mm512_set1_epi32(1));
  const __m512i up = _mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7FFF)), odd);
  const __m512i cut = _mm512_and_si512(up, _mm512_set1_epi32(static_cast<int>(0xFFFF0000)));
  const __m512i quiet = _mm512_set1_epi32(0x7FC00000);
  return _mm512_castsi512_ps(_mm512_mask_blend_epi32(_mm512_cmp_ps_mask(a, a, _CMP_UNORD_Q), cut, quiet));
}
inline void stream_upper_halves(uint16_t* to, Vec a) {
  const __m256i halves = _mm512_cvtepi32_epi16(_mm512_srli_epi32(_mm512_castps_si512(a), 16));
  _mm256_stream_si256(reinterpret_cast<__m256i*>(to), halves);
}

// Four rounds, each of which interleaves rows r and r + 8: after round k, the rows hold the matrix with the index bits
// rotated by k, and after four the transpose.
void transpose_16(Vec rows[16]) {
  const __m512i low = _mm512_setr_epi32(0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23);
  const __m512i high = _mm512_setr_epi32(8, 24, 9, 25, 10, 26, 11, 27, 12, 28, 13, 29, 14, 30, 15, 31);
#pragma GCC unroll 4
  for (int round = 0; round < 4; ++round) {
    Vec next[16];
#pragma GCC unroll 8
    for (int r = 0; r < 8; ++r) {
      next[2 * r] = _mm512_permutex2var_ps(rows[r], low, rows[r + 8]);
      next[2 * r + 1] = _mm512_permutex2var_ps(rows[r], high, rows[r + 8]);
    }
#pragma GCC unroll 16
    for (int r = 0; r < 16; ++r) rows[r] = next[r];
  }
}

inline void block_16(const float* source, int64_t stride, int64_t events, float* blocked) {
  Vec rows[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) rows[r] = r < events ? load(source + r * stride) : broadcast(0.0F);
  transpose_16(rows);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) store(blocked + r * 16, rows[r]);
}

inline void unblock_16(const float* blocked, int64_t stride, int64_t events, float* target) {
  Vec rows[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) rows[r] = load(blocked + r * 16);
  transpose_16(rows);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) {
    if (r < events) store(target + r * stride, rows[r]);
  }
}

/// blocked[i][r] = rows[r][first + i], i < 16.
inline void block_rows_16(const float* const* rows, int64_t first, float* blocked) {
  Vec values[16];
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) values[r] = load(rows[r] + first);
  transpose_16(values);
#pragma GCC unroll 16
  for (int r = 0; r < 16; ++r) store(blocked + r * 16, values[r]);
}

// For recurrent_kernels-inl.h. A NaN in b stays one.
inline Vec minimum(Vec a, Vec b) {
  return _mm512_min_ps(a, b);
}
inline Vec maximum(Vec a, Vec b) {
  return _mm512_max_ps(a, b);
}
/// a * 2^n, n the integer in the last bits of b.
inline Vec times_power_of_two(Vec a, Vec b) {
  return _mm512_castsi512_ps(_mm512_add_epi32(_mm512_castps_si512(a), _mm512_slli_epi32(_mm512_castps_si512(b), 23)));
}
/// 1 / a within 5 %, for positive a.
inline Vec reciprocal_guess(Vec a) {
  return _mm512_castsi512_ps(_mm512_sub_epi32(_mm512_set1_epi32(0x7EF311C7), _mm512_castps_si512(a)));
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

extern const MatrixKernels kAvx512MatrixKernels;
const MatrixKernels kAvx512MatrixKernels = kMatrices;

extern const PlaneKernels kAvx512PlaneKernels;
const PlaneKernels kAvx512PlaneKernels = kKernels;

extern const PoolKernels kAvx512PoolKernels;
const PoolKernels kAvx512PoolKernels = kPools;

extern const RecurrentKernels kAvx512RecurrentKernels;
const RecurrentKernels kAvx512RecurrentKernels = kRecurrent;

extern const RowKernels kAvx512RowKernels;
const RowKernels kAvx512RowKernels = kRows;

extern const SpectralKernels kAvx512SpectralKernels;
const SpectralKernels kAvx512SpectralKernels = kSpectral;

}  // namespace linac::kernels
