#pragma once
// Signs that this process gets on: long work (a scan of files, a test, the writing of a checkpoint) counts its pieces,
// and whoever watches for hangs sees the count rise (train/comm/membership/watchdog.h). Only for work that others wait
// for: what a reader in the background counts would hide that the training hangs. Thread-safe.

#include <atomic>
#include <cstdint>

namespace linac {

inline std::atomic<uint64_t> pieces_of_work{0};

/// While it lives, its thread works on what nobody waits for: its pieces do not count, and what it tries again it tells
/// of in its own words.
class BackgroundWork {
 public:
  BackgroundWork() noexcept { ++depth; }
  ~BackgroundWork() { --depth; }
  BackgroundWork(const BackgroundWork&) = delete;
  BackgroundWork& operator=(const BackgroundWork&) = delete;
  /// Whether this thread does such work.
  static bool is_this() noexcept { return depth > 0; }

 private:
  static inline thread_local int depth = 0;
};

/// A piece is done: seconds of work at most.
inline void piece_is_done() noexcept {
  if (!BackgroundWork::is_this()) pieces_of_work.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace linac
