#pragma once
// The memory of the emulated GPU: one range of addresses, which holds what cudaMalloc gives, the shared memory of the
// block that runs, the arguments of the launch and the stacks of the fibres. Beside each word of the first two stands
// who has used it last. Accesses of kernels come here through instrumentation.cpp.
//
// A word is 4 bytes; two threads at different bytes of one count as a race.

#include <cstddef>
#include <cstdint>

#include "launch.h"

namespace linac::cuda_emulation {

constexpr size_t kDeviceBytes = size_t{1} << 28, kSharedRange = size_t{1} << 20, kStackBytes = size_t{1} << 16;
constexpr size_t kWatched = kDeviceBytes + kSharedRange;  // then the arguments, then the stacks
constexpr size_t kAll = kWatched + kParameterBytes + kThreadsMax * kStackBytes;

/// Time, counted in barriers: an access of `now` is ordered to those of before by a barrier, if they are of the same
/// block; the block that runs began at `block`, its launch at `launch`.
struct Clock {
  uint32_t now = 1, block = 1, launch = 1;
};

enum class WordKind : uint8_t { kNone, kDevice, kShared };

class Memory {
 public:
  /// Before anything else; more than once does no harm.
  void reserve();

  Clock clock;
  /// Of the thread that runs; negative: the processor.
  int thread = -1;

  /// Null: too much. Filled with NaN, and not written as far as kernels are concerned.
  void* allocate(size_t bytes);
  /// False: nothing was allocated there.
  bool release(void* memory);
  /// Whether all of it lies in one allocation.
  bool allocated(const void* memory, size_t bytes) const;
  void written_by_host(const void* memory, size_t bytes);

  /// Shared memory at `offset`, from now on the block's and filled with NaN.
  void* share(size_t offset, size_t bytes);
  void* shared(size_t offset) const;
  void unshare_all();

  void* parameters() const;
  void* stack(unsigned thread) const;

  /// Of kernels. A violation is a fault (fault.h). Called for every access of the instrumented code.
  void read(uintptr_t address, size_t bytes) {
    if (!watched(address, bytes)) return;
    for (uintptr_t at = address & ~uintptr_t{3}; at < address + bytes; at += sizeof(float)) {
      Word& w = word(at);
      if (w.written == 0 || (w.written == clock.now && w.writer != thread) || by_another_block(w, w.written))
        bad_read(w, bytes);
      w.reader = static_cast<int16_t>(w.read != clock.now || w.reader == thread ? thread : kSeveral);
      w.read = clock.now;
      if (w.first_read < clock.launch) w.first_read = clock.now;
    }
  }
  void write(uintptr_t address, size_t bytes) {
    if (!watched(address, bytes)) return;
    for (uintptr_t at = address & ~uintptr_t{3}; at < address + bytes; at += sizeof(float)) {
      Word& w = word(at);
      if (w.kind == WordKind::kNone || (w.written == clock.now && w.writer != thread) ||
          (w.read == clock.now && w.reader != thread) || by_another_block(w, w.written) ||
          by_another_block(w, w.first_read))
        bad_write(w, bytes);
      w.written = clock.now, w.writer = static_cast<int16_t>(thread);
    }
  }

 private:
  struct Word {
    uint32_t written, first_read, read;  // when; first_read of this launch. 0: never
    int16_t writer, reader;
    WordKind kind;
  };
  static constexpr int16_t kSeveral = -2;

  Word& word(uintptr_t address) { return words_[(address - base_) / sizeof(float)]; }
  const Word& word(uintptr_t address) const { return words_[(address - base_) / sizeof(float)]; }
  /// Whether an access is one of a kernel to memory with words beside it.
  bool watched(uintptr_t address, size_t bytes) const {
    const bool inside = address - base_ < kWatched;
    // The processor at home; a fibre's stack, or the launch's arguments.
    if (inside == (thread >= 0) || (thread >= 0 && address - base_ < kAll)) return inside && thread >= 0;
    check_stranger(address, bytes);
    return false;
  }
  bool by_another_block(const Word& word, uint32_t when) const {
    return when >= clock.launch && when < clock.block && word.kind == WordKind::kDevice;
  }
  void check_stranger(uintptr_t address, size_t bytes) const;
  [[noreturn]] void bad_read(const Word& word, size_t bytes) const;
  [[noreturn]] void bad_write(const Word& word, size_t bytes) const;
  void mark(uintptr_t address, size_t bytes, WordKind kind);

  uintptr_t base_ = ~uintptr_t{0} / 2;  // where nothing lies, until there is something
  Word* words_ = nullptr;
  size_t end_ = 0, live_ = 0;  // of the device's allocations: bytes up to the last one, number
  size_t shared_end_ = 0;
};

inline constinit Memory memory;

}  // namespace linac::cuda_emulation
