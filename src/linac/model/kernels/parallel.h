#pragma once
// How a kernel's independent pieces are spread over threads. What the pieces compute never depends on it.

#include <cstdint>
#include <functional>

namespace linac::kernels {

/// Calls the task for 0 ... count - 1, in any order, perhaps on several threads, and returns when all are done.
using Parallel = std::function<void(int64_t count, const std::function<void(int64_t)>& task)>;

inline void serially(int64_t count, const std::function<void(int64_t)>& task) {
  for (int64_t i = 0; i < count; ++i) task(i);
}

}  // namespace linac::kernels
