#include <immintrin.h>

#include "linac/kernels/plane_kernels.h"

namespace linac::kernels {
namespace {

using Vec = __m256;
constexpr int kLanes = 8;
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
inline Vec broadcast(float a) {
  return _mm256_set1_ps(a);
}
inline Vec add(Vec a, Vec b) {
  return _mm256_add_ps(a, b);
}
inline Vec multiply_add(Vec a, Vec b, Vec sum) {
  return _mm256_fmadd_ps(a, b, sum);
}

// Rows of the source from source_rows on count as zeros; those of the target from target_rows on are not written.
void transpose_8(const float* source, int64_t source_stride, int64_t source_rows, float* target, int64_t target_stride,
                 int64_t target_rows) {
  Vec rows[8], pairs[8], quads[8];
#pragma GCC unroll 8
  for (int r = 0; r < 8; ++r) rows[r] = r < source_rows ? load(source + r * source_stride) : broadcast(0.0F);
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

}  // namespace
}  // namespace linac::kernels

#include "linac/kernels/plane_kernels-inl.h"

namespace linac::kernels {

extern const PlaneKernels kAvx2PlaneKernels;
const PlaneKernels kAvx2PlaneKernels = kKernels;

}  // namespace linac::kernels
