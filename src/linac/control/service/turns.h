#pragma once
// A few turns at something, in the order of asking, for coroutines: who waits holds no thread. Thread-safe.

#include <deque>
#include <memory>
#include <mutex>

#include "linac/control/http/server/awaited.h"
#include "linac/control/service/http_words.h"

namespace linac::service {

class Turns {
 public:
  explicit Turns(int count) : free_(count) {}
  /// A turn, for as long as what it returns is held. Turns outlive it.
  Task<std::shared_ptr<void>> take();

 private:
  void give();

  std::mutex mutex_;
  int free_;
  std::deque<http::Finish> waiting_;
};

}  // namespace linac::service
