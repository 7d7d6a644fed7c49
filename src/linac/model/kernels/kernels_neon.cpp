#include <arm_neon.h>

#include "linac/model/kernels/matrix_kernels.h"
#include "linac/model/kernels/plane_kernels.h"
#include "linac/model/kernels/pool_kernels.h"
#include "linac/model/kernels/recurrent_kernels.h"
#include "linac/model/kernels/row_kernels.h"
#include "linac/model/kernels/spectral_kernels.h"

namespace linac::kernels {
namespace {

using Vec = float32x4_t;
constexpr int kLanes = 4;
constexpr bool kManyRegisters = true;
constexpr int64_t kMaxChannels = 8;  // of a tile: 24 sums, the cells beside them and a weight fill 32 registers

inline Vec load(const float* from) {
  return vld1q_f32(from);
}
// Without it the compiler reads the same operand from memory for each use, and the load ports become the limit.
inline Vec in_register(Vec a) {
  asm("" : "+w"(a));
  return a;
}
inline void store(float* to, Vec a) {
  vst1q_f32(to, a);
}
// A quarter of a line: streaming past the caches would not pay.
inline void stream(float* to, Vec a) {
  store(to, a);
}
inline void finish_streams() {}
inline Vec broadcast(float a) {
  return vdupq_n_f32(a);
}
inline Vec add(Vec a, Vec b) {
  return vaddq_f32(a, b);
}
inline Vec subtract(Vec a, Vec b) {
  return vsubq_f32(a, b);
}
inline Vec multiply(Vec a, Vec b) {
  return vmulq_f32(a, b);
}
inline Vec multiply_add(Vec a, Vec b, Vec sum) {
  return vfmaq_f32(sum, a, b);
}
// Not the negated difference: a zero would have the other sign.
inline Vec multiply_subtract(Vec a, Vec b, Vec c) {
  return vfmaq_f32(vnegq_f32(c), a, b);
}
inline Vec negative_multiply_add(Vec a, Vec b, Vec sum) {
  return vfmsq_f32(sum, a, b);
}

inline uint32x4_t bits_of(Vec a) {
  return vreinterpretq_u32_f32(a);
}
inline Vec of_bits(uint32x4_t bits) {
  return vreinterpretq_f32_u32(bits);
}

/// x > 0 ? a : b, and lanes of a whose bit is set, others 0.
inline Vec where_positive(Vec x, Vec a, Vec b) {
  return vbslq_f32(vcgtzq_f32(x), a, b);
}
inline Vec keep(Vec a, unsigned bits) {
  const uint32x4_t lane = {1, 2, 4, 8};
  return of_bits(vandq_u32(bits_of(a), vtstq_u32(vdupq_n_u32(bits), lane)));
}
/// `best` becomes a where a is larger or no number; a bit for each such lane.
inline unsigned take_larger(Vec& best, Vec a) {
  const uint32x4_t lane = {1, 2, 4, 8};
  const uint32x4_t taken = vorrq_u32(vcgtq_f32(a, best), vmvnq_u32(vceqq_f32(a, a)));
  best = vbslq_f32(taken, a, best);
  return vaddvq_u32(vandq_u32(taken, lane));
}
inline void add_to_doubles(Vec a, double* to) {
  vst1q_f64(to, vaddq_f64(vld1q_f64(to), vcvt_f64_f32(vget_low_f32(a))));
  vst1q_f64(to + 2, vaddq_f64(vld1q_f64(to + 2), vcvt_high_f64_f32(a)));
}
/// A bit for each of 16 numbers: whether its 16 bits from `shift` on are not below the threshold.
inline uint16_t not_below(const uint32_t* numbers, int shift, uint32_t threshold) {
  unsigned bits = 0;
  for (int i = 0; i < 16; ++i) bits |= static_cast<unsigned>(((numbers[i] >> shift) & 0xFFFF) >= threshold) << i;
  return static_cast<uint16_t>(bits);
}

/// Floats whose upper halves lie at `from`, a rounded to such ones (to nearest, ties to even; NaN stays one), and away.
inline Vec load_upper_halves(const uint16_t* from) {
  return of_bits(vshll_n_u16(vld1_u16(from), 16));
}
inline Vec rounded_to_upper_half(Vec a) {
  const uint32x4_t odd = vandq_u32(vshrq_n_u32(bits_of(a), 16), vdupq_n_u32(1));
  const uint32x4_t up = vaddq_u32(vaddq_u32(bits_of(a), vdupq_n_u32(0x7FFF)), odd);
  const uint32x4_t cut = vandq_u32(up, vdupq_n_u32(0xFFFF0000));
  return of_bits(vbslq_u32(vceqq_f32(a, a), cut, vdupq_n_u32(0x7FC00000)));
}
inline void stream_upper_halves(uint16_t* to, Vec a) {
  vst1_u16(to, vshrn_n_u32(bits_of(a), 16));
}

void transpose_4(Vec rows[4]) {
  const float32x4x2_t low = vtrnq_f32(rows[0], rows[1]), high = vtrnq_f32(rows[2], rows[3]);
#pragma GCC unroll 2
  for (int i = 0; i < 2; ++i) {
    rows[i] = vcombine_f32(vget_low_f32(low.val[i]), vget_low_f32(high.val[i]));
    rows[i + 2] = vcombine_f32(vget_high_f32(low.val[i]), vget_high_f32(high.val[i]));
  }
}

inline void block_16(const float* source, int64_t stride, int64_t events, float* blocked) {
  for (int i = 0; i < 16; i += 4) {
    for (int event = 0; event < 16; event += 4) {
      Vec rows[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r)
        rows[r] = event + r < events ? load(source + (event + r) * stride + i) : broadcast(0.0F);
      transpose_4(rows);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) store(blocked + (i + r) * 16 + event, rows[r]);
    }
  }
}

inline void unblock_16(const float* blocked, int64_t stride, int64_t events, float* target) {
  for (int i = 0; i < 16; i += 4) {
    for (int event = 0; event < events; event += 4) {
      Vec rows[4];
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) rows[r] = load(blocked + (i + r) * 16 + event);
      transpose_4(rows);
#pragma GCC unroll 4
      for (int r = 0; r < 4; ++r) {
        if (event + r < events) store(target + (event + r) * stride + i, rows[r]);
      }
    }
  }
}

/// blocked[i][r] = rows[r][first + i], i < 16.
inline void block_rows_16(const float* const* rows, int64_t first, float* blocked) {
  for (int64_t i = 0; i < 16; i += 4) {
    for (int64_t event = 0; event < 16; event += 4) {
      Vec four[4];
#pragma GCC unroll 4
      for (int64_t r = 0; r < 4; ++r) four[r] = load(rows[event + r] + first + i);
      transpose_4(four);
#pragma GCC unroll 4
      for (int64_t r = 0; r < 4; ++r) store(blocked + (i + r) * 16 + event, four[r]);
    }
  }
}

// For recurrent_kernels-inl.h. A NaN in b stays one.
inline Vec minimum(Vec a, Vec b) {
  return vbslq_f32(vcltq_f32(a, b), a, b);
}
inline Vec maximum(Vec a, Vec b) {
  return vbslq_f32(vcgtq_f32(a, b), a, b);
}
/// a * 2^n, n the integer in the last bits of b.
inline Vec times_power_of_two(Vec a, Vec b) {
  return of_bits(vaddq_u32(bits_of(a), vshlq_n_u32(bits_of(b), 23)));
}
/// 1 / a within 5 %, for positive a.
inline Vec reciprocal_guess(Vec a) {
  return of_bits(vsubq_u32(vdupq_n_u32(0x7EF311C7), bits_of(a)));
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

extern const MatrixKernels kNeonMatrixKernels;
const MatrixKernels kNeonMatrixKernels = kMatrices;

extern const PlaneKernels kNeonPlaneKernels;
const PlaneKernels kNeonPlaneKernels = kKernels;

extern const PoolKernels kNeonPoolKernels;
const PoolKernels kNeonPoolKernels = kPools;

extern const RecurrentKernels kNeonRecurrentKernels;
const RecurrentKernels kNeonRecurrentKernels = kRecurrent;

extern const RowKernels kNeonRowKernels;
const RowKernels kNeonRowKernels = kRows;

extern const SpectralKernels kNeonSpectralKernels;
const SpectralKernels kNeonSpectralKernels = kSpectral;

}  // namespace linac::kernels
