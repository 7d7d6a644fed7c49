#pragma once
// Memory on cache-line boundaries: vector kernels may choose another path for unaligned data, and then other bits.
// Large buffers lie on huge pages where the system has them: kernels that walk through hundreds of megabytes with wide
// strides would otherwise wait for the page tables.

#include <sys/mman.h>

#include <cstddef>
#include <new>
#include <vector>

namespace linac {

inline constexpr size_t kAlignmentBytes = 64;
inline constexpr size_t kHugePageBytes = size_t{2} << 20;

template <class T>
struct AlignedAllocator {
  using value_type = T;
  AlignedAllocator() = default;
  template <class U>
  AlignedAllocator(const AlignedAllocator<U>&) {}

  T* allocate(size_t n) {
    const size_t bytes = n * sizeof(T);
    void* const memory = ::operator new(bytes, alignment(bytes));
    // Advice only: without huge pages all works as before.
    if (bytes >= 2 * kHugePageBytes) madvise(memory, bytes, MADV_HUGEPAGE);
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, size_t n) { ::operator delete(memory, alignment(n * sizeof(T))); }
  template <class U>
  bool operator==(const AlignedAllocator<U>&) const {
    return true;
  }

 private:
  static std::align_val_t alignment(size_t bytes) {
    return std::align_val_t{bytes >= 2 * kHugePageBytes ? kHugePageBytes : kAlignmentBytes};
  }
};

using AlignedFloats = std::vector<float, AlignedAllocator<float>>;

}  // namespace linac
