#include <cstring>

#include "linac/kernels/plane_kernels.h"

namespace linac::kernels {
namespace {

typedef float Vec __attribute__((vector_size(16)));  // four lanes: what every 64-bit processor has
constexpr int kLanes = 4;
constexpr int64_t kMaxChannels = 4;

inline Vec load(const float* from) {
  Vec a;
  std::memcpy(&a, from, sizeof a);
  return a;
}
inline Vec in_register(Vec a) {
  return a;
}
inline void store(float* to, Vec a) {
  std::memcpy(to, &a, sizeof a);
}
inline Vec broadcast(float a) {
  return Vec{a, a, a, a};
}
inline Vec add(Vec a, Vec b) {
  return a + b;
}
inline Vec multiply_add(Vec a, Vec b, Vec sum) {
  return a * b + sum;
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

}  // namespace
}  // namespace linac::kernels

#include "linac/kernels/plane_kernels-inl.h"

namespace linac::kernels {

extern const PlaneKernels kGenericPlaneKernels;
const PlaneKernels kGenericPlaneKernels = kKernels;

}  // namespace linac::kernels
