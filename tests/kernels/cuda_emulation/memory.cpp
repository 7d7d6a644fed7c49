#include "memory.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "fault.h"

extern "C" char __executable_start, end;  // of the linker: the program with its constants and variables

namespace linac::cuda_emulation {
namespace {

constexpr size_t kAlignment = 256;        // cudaMalloc's
constexpr size_t kGap = 4096;             // between allocations: a few rows beyond are found
constexpr uint32_t kPoison = 0x7fc0dead;  // a NaN; as an int far beyond any array

void* reserved(size_t bytes) {
  void* memory = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (memory == MAP_FAILED) {
    std::perror("the emulated GPU's memory");
    std::abort();
  }
  return memory;
}

void poison(void* memory, size_t bytes) {
  uint32_t* const words = static_cast<uint32_t*>(memory);
  for (size_t i = 0; i < (bytes + 3) / 4; ++i) words[i] = kPoison;
}

const char* name(WordKind kind) {
  return kind == WordKind::kShared ? "shared" : "the device's";
}

}  // namespace

void Memory::reserve() {
  if (words_ != nullptr) return;
  words_ = static_cast<Word*>(reserved(kWatched / sizeof(float) * sizeof(Word)));
  base_ = reinterpret_cast<uintptr_t>(reserved(kAll));
}

void Memory::mark(uintptr_t address, size_t bytes, WordKind kind) {
  for (uintptr_t at = address; at < address + bytes; at += sizeof(float)) word(at) = {0, 0, 0, -1, -1, kind};
}

void* Memory::allocate(size_t bytes) {
  reserve();
  // What was released is not used again while anything is allocated: so its use is a fault.
  if (live_ == 0) end_ = 0;
  const size_t first = (end_ + kGap + kAlignment - 1) / kAlignment * kAlignment;
  if (bytes == 0 || bytes > kDeviceBytes - std::min(kDeviceBytes, first + kGap)) return nullptr;
  end_ = first + bytes;
  ++live_;
  void* memory = reinterpret_cast<void*>(base_ + first);
  mark(base_ + first, bytes, WordKind::kDevice);
  poison(memory, bytes);
  return memory;
}

bool Memory::release(void* memory) {
  const uintptr_t address = reinterpret_cast<uintptr_t>(memory);
  if (!allocated(memory, 1) || word(address - sizeof(float)).kind != WordKind::kNone) return false;
  for (uintptr_t at = address; word(at).kind != WordKind::kNone; at += sizeof(float)) mark(at, 1, WordKind::kNone);
  --live_;
  return true;
}

bool Memory::allocated(const void* memory, size_t bytes) const {
  const uintptr_t first = reinterpret_cast<uintptr_t>(memory), last = first + bytes;
  if (first < base_ || last > base_ + kDeviceBytes) return false;
  for (uintptr_t at = first; at < last; at += sizeof(float))
    if (word(at).kind != WordKind::kDevice) return false;
  return true;
}

void Memory::written_by_host(const void* memory, size_t bytes) {
  const uintptr_t first = reinterpret_cast<uintptr_t>(memory);
  for (uintptr_t at = first; at < first + bytes; at += sizeof(float)) word(at).written = clock.now;
}

void* Memory::share(size_t offset, size_t bytes) {
  const uintptr_t address = base_ + kDeviceBytes + offset;
  mark(address, bytes, WordKind::kShared);
  shared_end_ = std::max(shared_end_, offset + bytes);
  poison(reinterpret_cast<void*>(address), bytes);
  return reinterpret_cast<void*>(address);
}

void* Memory::shared(size_t offset) const {
  return reinterpret_cast<void*>(base_ + kDeviceBytes + offset);
}

void Memory::unshare_all() {
  mark(base_ + kDeviceBytes, shared_end_, WordKind::kNone);
  shared_end_ = 0;
}

void* Memory::parameters() const {
  return reinterpret_cast<void*>(base_ + kWatched);
}

void* Memory::stack(unsigned thread) const {
  return reinterpret_cast<void*>(base_ + kWatched + kParameterBytes + thread * kStackBytes);
}

void Memory::check_stranger(uintptr_t address, size_t bytes) const {
  if (thread < 0) fault("the processor uses memory of the device");
  const bool of_program =
      address >= reinterpret_cast<uintptr_t>(&__executable_start) && address < reinterpret_cast<uintptr_t>(&end);
  if (!of_program) fault("uses %zu bytes outside of the device", bytes);
}

void Memory::bad_read(const Word& word, size_t bytes) const {
  if (word.kind == WordKind::kNone) fault("reads %zu bytes outside of any allocation", bytes);
  if (word.written == 0) fault("reads %zu bytes of %s memory that nobody has written", bytes, name(word.kind));
  if (word.written == clock.now)
    fault("a race: reads %zu bytes of %s memory that thread %d writes, with no barrier between", bytes, name(word.kind),
          word.writer);
  fault("a race: reads %zu bytes of %s memory that another block writes", bytes, name(word.kind));
}

void Memory::bad_write(const Word& word, size_t bytes) const {
  if (word.kind == WordKind::kNone) fault("writes %zu bytes outside of any allocation", bytes);
  if (word.written == clock.now && word.writer != thread)
    fault("a race: writes %zu bytes of %s memory that thread %d writes, with no barrier between", bytes,
          name(word.kind), word.writer);
  if (word.read == clock.now && word.reader == kSeveral)
    fault("a race: writes %zu bytes of %s memory that other threads read, with no barrier between", bytes,
          name(word.kind));
  if (word.read == clock.now && word.reader != thread)
    fault("a race: writes %zu bytes of %s memory that thread %d reads, with no barrier between", bytes, name(word.kind),
          word.reader);
  fault("a race: writes %zu bytes of %s memory that another block uses", bytes, name(word.kind));
}

}  // namespace linac::cuda_emulation
