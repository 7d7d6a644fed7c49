#pragma once
// The end of a view for all who wait in it, on whatever thread: it comes once and stays. Thread-safe.

#include <atomic>

#include "linac/base/base/descriptor.h"

namespace linac::comm {

class ViewEnd {
 public:
  ViewEnd();
  void come() noexcept;
  bool has_come() const { return has_come_; }
  /// Readable once it has come: to be polled.
  int descriptor() const { return event_.get(); }

 private:
  Descriptor event_;
  std::atomic<bool> has_come_{false};
};

}  // namespace linac::comm
