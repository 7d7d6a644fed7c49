#pragma once
// What `linac data batches` and the program that started it tell each other: that a slot of their memory has a batch,
// by the standard output, and that a slot is free again, by the standard input. The end of that input ends this
// process, whatever it does: nobody is there for whom it would read.

#include <cstdint>
#include <memory>
#include <string>

namespace linac::cli {

class BatchLink {
 public:
  /// All slots are free. A thread listens until the process ends.
  explicit BatchLink(int slots);

  /// What the other side needs to know first, as a line. Once, before the batches.
  void begin(const std::string& header) const;
  /// Waits for a free slot, which is the caller's: the one that became free last, so that it may still be in the cache
  /// of a processor.
  int take_slot();
  /// 16 bytes: the epoch, the step and the slot as uint32 of this machine, and 0.
  void give(uint32_t epoch, uint32_t step, int slot) const;

 private:
  struct Free;
  std::shared_ptr<Free> free_;
};

}  // namespace linac::cli
