#pragma once
// Signs that this process gets on: long work (a scan of files, a test, the writing of a checkpoint) counts its pieces,
// and whoever watches for hangs sees the count rise (comm/watchdog.h). Only for work that others wait for: what a
// reader in the background counts would hide that the training hangs. Thread-safe.

#include <atomic>
#include <cstdint>

namespace linac {

inline std::atomic<uint64_t> pieces_of_work{0};

/// A piece is done: seconds of work at most.
inline void piece_is_done() noexcept {
  pieces_of_work.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace linac
