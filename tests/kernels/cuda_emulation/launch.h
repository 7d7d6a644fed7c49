#pragma once
// Kernels on the emulated GPU. The blocks of a launch run one after the other, in the caller's thread; the threads of a
// block are fibres, which run in their order, each until it reaches a __syncthreads or ends. So a launch is finished
// when it returns, whatever its stream, and its result is the same each time.
//
// What a kernel may not do ends the launch with cudaErrorLaunchFailure, and cudaGetErrorString says what happened, in
// which block and thread, behind which barrier:
//  - access outside of the device's allocations and of the block's shared memory (the processor's memory included);
//  - reading what nobody has written; a block's shared memory is full of NaN when it starts;
//  - races: two threads at one word, one of them writing, without a barrier between; and two blocks of one launch;
//  - threads of a block that wait at different barriers, or for a thread that has ended;
//  - vectors at addresses that are not multiples of their alignment, indices beyond an array's extent, overflows of
//    int (through the compiler's checks).
// Not thread-safe: one thread uses the emulated GPU.

#include <cuda_runtime.h>

#include <new>
#include <tuple>

namespace linac::cuda_emulation {

constexpr size_t kParameterBytes = 4096;    // CUDA's limits
constexpr size_t kSharedBytes = 48 * 1024;  // without asking for more
constexpr unsigned kThreadsMax = 1024;

/// Where a launch keeps its arguments: what a kernel may read of them.
void* parameter_space();

void check_launch_bounds(unsigned threads);
void* shared_at(int line, size_t bytes, size_t alignment);
void* dynamic_shared_at(size_t alignment);

/// A __shared__ variable, which the line of its declaration names.
template <class T, size_t kAlignment>
T& shared_variable(int line) {
  return *static_cast<T*>(shared_at(line, sizeof(T), kAlignment));
}

/// extern __shared__ T name[].
template <class T>
T* dynamic_shared() {
  return static_cast<T*>(dynamic_shared_at(alignof(T)));
}

/// kernel<<<...>>>(...).
class Launch {
 public:
  Launch(const dim3& grid, const dim3& block, size_t shared_bytes = 0, cudaStream_t stream = nullptr)
      : grid_(grid), block_(block), shared_bytes_(shared_bytes), stream_(stream) {}

  /// `kernel` has no state; it is called by each thread with the arguments.
  template <class Kernel, class... Arguments>
  void run(const char* name, Kernel, Arguments... arguments) {
    using Parameters = std::tuple<Arguments...>;
    static_assert(sizeof(Parameters) <= kParameterBytes, "more parameters than CUDA takes");
    new (parameter_space()) Parameters(arguments...);
    run_threads(name, [] { std::apply(Kernel{}, *static_cast<const Parameters*>(parameter_space())); });
  }

 private:
  void run_threads(const char* name, void (*thread)());

  dim3 grid_, block_;
  size_t shared_bytes_;
  cudaStream_t stream_;
};

}  // namespace linac::cuda_emulation
