#pragma once
// The time of day, as records have it. Thread-safe.

#include <chrono>
#include <cstdint>

namespace linac {

/// Milliseconds since 1970.
inline int64_t now_ms() {
  return std::chrono::duration_cast<std::chrono::milliseconds>(std::chrono::system_clock::now().time_since_epoch())
      .count();
}

}  // namespace linac
