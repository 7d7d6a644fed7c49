#pragma once
// How much of its time a thread spends in backward passes: the rest of what a replica computes is its forward passes.

#include <chrono>

namespace linac::graph {

/// While it lives, the calling thread goes back through a network.
class BackwardTime {
 public:
  BackwardTime() = default;
  ~BackwardTime() { seconds += std::chrono::duration<double>(Clock::now() - begin_).count(); }
  BackwardTime(const BackwardTime&) = delete;
  BackwardTime& operator=(const BackwardTime&) = delete;

  /// Of the calling thread so far.
  static double of_thread() { return seconds; }

 private:
  using Clock = std::chrono::steady_clock;
  static inline thread_local double seconds = 0;
  const Clock::time_point begin_ = Clock::now();
};

}  // namespace linac::graph
