#pragma once
// Memory on cache-line boundaries: vector kernels may choose another path for unaligned data, and then other bits.

#include <cstddef>
#include <new>
#include <vector>

namespace linac {

inline constexpr size_t kAlignmentBytes = 64;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(size_t n) { return static_cast<T*>(::operator new (n * sizeof(T), std::align_val_t{kAlignmentBytes})); }
  void deallocate(T* memory, size_t) { ::operator delete (memory, std::align_val_t{kAlignmentBytes}); }
  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }
};

using AlignedFloats = std::vector<float, AlignedAllocator<float>>;

}  // namespace linac
