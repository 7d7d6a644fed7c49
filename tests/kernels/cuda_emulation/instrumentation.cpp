// The .cu files are compiled with -fsanitize=thread, which makes a call of every access to memory, and with some checks
// of -fsanitize=undefined. Here is what those calls do, in place of the sanitizers' libraries.

#include <cstring>

#include "fault.h"
#include "memory.h"

using linac::cuda_emulation::memory;

// What the compiler tells first of all of a check that failed.
struct CheckedPlace {
  const char* file;
  uint32_t line, column;
};

static void fail(const CheckedPlace* place, const char* what) {
  const char* const slash = std::strrchr(place->file, '/');
  linac::cuda_emulation::fault("%s:%u: %s", slash != nullptr ? slash + 1 : place->file, place->line, what);
}

extern "C" {

void __tsan_init() {}
void __tsan_func_entry(void*) {}
void __tsan_func_exit() {}

#define LINAC_ACCESS(bytes)                          \
  void __tsan_read##bytes(uintptr_t at) {            \
    memory.read(at, bytes);                          \
  }                                                  \
  void __tsan_write##bytes(uintptr_t at) {           \
    memory.write(at, bytes);                         \
  }                                                  \
  void __tsan_unaligned_read##bytes(uintptr_t at) {  \
    memory.read(at, bytes);                          \
  }                                                  \
  void __tsan_unaligned_write##bytes(uintptr_t at) { \
    memory.write(at, bytes);                         \
  }
LINAC_ACCESS(1)
LINAC_ACCESS(2)
LINAC_ACCESS(4)
LINAC_ACCESS(8)
LINAC_ACCESS(16)
#undef LINAC_ACCESS

void __tsan_read_range(uintptr_t at, size_t bytes) {
  memory.read(at, bytes);
}
void __tsan_write_range(uintptr_t at, size_t bytes) {
  memory.write(at, bytes);
}
// Of the processor alone, which counts references so: cuda_runtime.h has no atomics.
int __tsan_atomic32_fetch_add(volatile int* at, int value, int) {
  return __atomic_fetch_add(at, value, __ATOMIC_SEQ_CST);
}
int __tsan_atomic32_fetch_sub(volatile int* at, int value, int) {
  return __atomic_fetch_sub(at, value, __ATOMIC_SEQ_CST);
}
void __tsan_vptr_update(void*, void*) {}
void __tsan_vptr_read(void*) {}

void __ubsan_handle_type_mismatch_v1(CheckedPlace* place, uintptr_t) {
  fail(place, "a misaligned address");
}
void __ubsan_handle_out_of_bounds(CheckedPlace* place, uintptr_t) {
  fail(place, "an index beyond the array");
}
void __ubsan_handle_add_overflow(CheckedPlace* place, uintptr_t, uintptr_t) {
  fail(place, "a sum beyond its type");
}
void __ubsan_handle_sub_overflow(CheckedPlace* place, uintptr_t, uintptr_t) {
  fail(place, "a difference beyond its type");
}
void __ubsan_handle_mul_overflow(CheckedPlace* place, uintptr_t, uintptr_t) {
  fail(place, "a product beyond its type");
}
void __ubsan_handle_negate_overflow(CheckedPlace* place, uintptr_t) {
  fail(place, "a negation beyond its type");
}
void __ubsan_handle_divrem_overflow(CheckedPlace* place, uintptr_t, uintptr_t) {
  fail(place, "a division by zero");
}
void __ubsan_handle_shift_out_of_bounds(CheckedPlace* place, uintptr_t, uintptr_t) {
  fail(place, "a shift beyond the type");
}

}  // extern "C"
