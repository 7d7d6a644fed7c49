#include <immintrin.h>

#include "linac/kernels/plane_kernels.h"

namespace linac::kernels {
namespace {

using Vec = __m512;
constexpr int kLanes = 16;
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
inline Vec broadcast(float a) {
  return _mm512_set1_ps(a);
}
inline Vec add(Vec a, Vec b) {
  return _mm512_add_ps(a, b);
}
inline Vec multiply_add(Vec a, Vec b, Vec sum) {
  return _mm512_fmadd_ps(a, b, sum);
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

}  // namespace
}  // namespace linac::kernels

#include "linac/kernels/plane_kernels-inl.h"

namespace linac::kernels {

extern const PlaneKernels kAvx512PlaneKernels;
const PlaneKernels kAvx512PlaneKernels = kKernels;

}  // namespace linac::kernels
