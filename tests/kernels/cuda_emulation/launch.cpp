#include "launch.h"

#include <ucontext.h>
#include <algorithm>
#include <csetjmp>
#include <cstdarg>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <utility>
#include <vector>

#include "fault.h"
#include "memory.h"
#include "runtime.h"

namespace linac::cuda_emulation {
namespace {

using Place = std::source_location;

// A thread of a block. Its first start is ucontext's; _setjmp and _longjmp switch without a system call.
struct Fiber {
  ucontext_t start;
  jmp_buf here;
  bool begun = false, ended = false;
  Place barrier;  // where it waits
};

struct SharedVariable {
  int line;
  size_t offset;
  uint32_t block;  // the one that has it filled with NaN
};

// The launch that runs.
struct Running {
  std::string kernel;
  void (*thread)() = nullptr;
  dim3 grid, block;
  unsigned threads = 0;
  size_t dynamic_bytes = 0, dynamic_offset = 0, shared_bytes = 0, shared_end = 0;
  std::vector<SharedVariable> variables;
  bool passed = false;
  Place barrier;  // the last one that was passed
  std::string fault;
};

Running running;
std::vector<Fiber> fibers;  // of all blocks, one after the other
jmp_buf scheduler;

std::string text(const Place& place) {
  const std::string file = place.file_name();
  return file.substr(file.rfind('/') + 1) + ':' + std::to_string(place.line());
}

bool same(const Place& a, const Place& b) {
  return a.line() == b.line() && a.column() == b.column() && std::string(a.file_name()) == b.file_name();
}

std::string where(int thread) {
  return running.kernel + ", block (" + std::to_string(blockIdx.x) + ", " + std::to_string(blockIdx.y) + ", " +
         std::to_string(blockIdx.z) + ")" + (thread < 0 ? "" : ", thread " + std::to_string(thread)) +
         (running.passed ? ", behind the barrier of " + text(running.barrier) : "") + ": ";
}

// What a fibre does: one thread after the other, of each block.
void live() {
  for (;;) {
    running.thread();
    Fiber& fiber = fibers[static_cast<size_t>(memory.thread)];
    fiber.ended = true;
    if (_setjmp(fiber.here) == 0) _longjmp(scheduler, 1);
  }
}

// Until the thread waits or ends, or there is a fault. Nothing here lives in a register over the way there and back.
__attribute__((noinline)) void resume(Fiber& fiber) {
  if (_setjmp(scheduler) != 0) return;
  if (fiber.begun) _longjmp(fiber.here, 1);
  fiber.begun = true;
  setcontext(&fiber.start);
  std::abort();
}

void prepare(Fiber& fiber, unsigned thread) {
  fiber.ended = false;
  if (fiber.begun) return;
  getcontext(&fiber.start);
  fiber.start.uc_stack.ss_sp = memory.stack(thread);
  fiber.start.uc_stack.ss_size = kStackBytes;
  fiber.start.uc_link = nullptr;
  makecontext(&fiber.start, live, 0);
}

// The running thread's part of a barrier.
void wait_at(const Place& barrier) {
  Fiber& fiber = fibers[static_cast<size_t>(memory.thread)];
  fiber.barrier = barrier;
  if (_setjmp(fiber.here) == 0) _longjmp(scheduler, 1);
}

// After each thread has gone as far as it can alone: whether all have ended.
bool all_ended() {
  const auto begin = fibers.begin(), behind = begin + running.threads;
  const auto waits = std::find_if(begin, behind, [](const Fiber& fiber) { return !fiber.ended; });
  if (waits == behind) return true;
  for (auto other = begin; other != behind; ++other) {
    const std::string waiting = "thread " + std::to_string(waits - begin) + " waits at the barrier of " +
                                text(waits->barrier) + ", thread " + std::to_string(other - begin);
    if (other->ended)
      running.fault = where(-1) + "deadlock: " + waiting + " has ended";
    else if (!same(other->barrier, waits->barrier))
      running.fault = where(-1) + "deadlock: " + waiting + " at that of " + text(other->barrier);
    if (!running.fault.empty()) return true;
  }
  running.passed = true, running.barrier = waits->barrier;
  return false;
}

void run_block() {
  memory.clock.block = ++memory.clock.now;
  running.passed = false;
  if (running.dynamic_bytes > 0) memory.share(running.dynamic_offset, running.dynamic_bytes);
  for (unsigned t = 0; t < running.threads; ++t) prepare(fibers[t], t);
  do {
    for (unsigned t = 0; t < running.threads && running.fault.empty(); ++t) {
      if (fibers[t].ended) continue;
      memory.thread = static_cast<int>(t);
      threadIdx = {t % running.block.x, t / running.block.x % running.block.y, t / running.block.x / running.block.y};
      resume(fibers[t]);
    }
    memory.thread = -1;
    ++memory.clock.now;
  } while (running.fault.empty() && !all_ended());
}

// Room in the shared memory at an address that is no multiple of more than `alignment`: what needs more has to say so.
size_t room(size_t bytes, size_t alignment) {
  constexpr size_t kGap = 512;  // between variables, which a GPU has not
  const size_t step = 2 * alignment, offset = (running.shared_end + kGap) / step * step + alignment;
  running.shared_end = offset + bytes;
  running.shared_bytes += bytes;
  return offset;
}

}  // namespace

void fault(const char* format, ...) {
  const int thread = std::exchange(memory.thread, -1);  // from here on it is the processor's work
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  std::vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  if (thread < 0) {
    std::fprintf(stderr, "emulated GPU: %s\n", what);
    std::abort();
  }
  running.fault = where(thread) + what;
  fibers[static_cast<size_t>(thread)].begun = false;
  _longjmp(scheduler, 1);
}

void* parameter_space() {
  return memory.parameters();
}

void check_launch_bounds(unsigned threads) {
  if (running.threads > threads) fault("%u threads in a block, but __launch_bounds__(%u)", running.threads, threads);
}

void* shared_at(int line, size_t bytes, size_t alignment) {
  auto found = std::find_if(running.variables.begin(), running.variables.end(),
                            [line](const SharedVariable& variable) { return variable.line == line; });
  if (found == running.variables.end()) {
    if (running.shared_bytes + bytes > kSharedBytes) fault("more shared memory than there is");
    found = running.variables.insert(found, {line, room(bytes, alignment), 0});
  }
  const size_t offset = found->offset;
  if (found->block != memory.clock.block) {
    found->block = memory.clock.block;
    return memory.share(offset, bytes);
  }
  return memory.shared(offset);
}

void* dynamic_shared_at(size_t alignment) {
  // The launch's block of memory is as aligned as CUDA's most aligned type; the declaration promises less.
  if (alignment > 16) fault("dynamic shared memory of an alignment beyond 16");
  return memory.shared(running.dynamic_offset);
}

void Launch::run_threads(const char* name, void (*thread)()) {
  const uint64_t threads = uint64_t{block_.x} * block_.y * block_.z;
  if (threads == 0 || threads > kThreadsMax || block_.z > 64 || grid_.x == 0 || grid_.x > INT32_MAX || grid_.y == 0 ||
      grid_.y > UINT16_MAX || grid_.z == 0 || grid_.z > UINT16_MAX)
    return set_error(cudaErrorInvalidConfiguration);
  if (shared_bytes_ > kSharedBytes) return set_error(cudaErrorInvalidValue);
  if (!usable(stream_)) return;

  memory.reserve();
  memory.unshare_all();
  memory.clock.launch = ++memory.clock.now;
  running = {};
  running.kernel = name, running.thread = thread, running.grid = grid_, running.block = block_;
  running.threads = static_cast<unsigned>(threads), running.dynamic_bytes = shared_bytes_;
  running.dynamic_offset = room(shared_bytes_, 16);
  if (fibers.empty()) fibers.resize(kThreadsMax);
  gridDim = grid_, blockDim = block_;
  for (unsigned z = 0; z < grid_.z && running.fault.empty(); ++z)
    for (unsigned y = 0; y < grid_.y && running.fault.empty(); ++y)
      for (unsigned x = 0; x < grid_.x && running.fault.empty(); ++x) {
        blockIdx = {x, y, z};
        run_block();
      }
  if (running.fault.empty()) return;
  for (Fiber& fiber : fibers) fiber.begun = false;  // those that waited never go on
  set_fault(running.fault);
}

}  // namespace linac::cuda_emulation

void __syncthreads(std::source_location here) {
  linac::cuda_emulation::wait_at(here);
}
