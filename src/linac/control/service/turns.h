#pragma once
// A few turns at something, for coroutines: who waits holds no thread. Those who wait are served in turn, the requests
// of each in the order of asking, and nobody has more turns at once than `of_one`: so who asks a hundred times keeps
// others waiting no longer than who asks twice. Thread-safe.

#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <string>

#include "linac/control/http/server/awaited.h"
#include "linac/control/service/http_words.h"

namespace linac::service {

class Turns {
 public:
  explicit Turns(int count) : Turns(count, count) {}
  Turns(int count, int of_one) : of_one_(of_one), free_(count) {}
  /// A turn of `who`, for as long as what it returns is held. Turns outlive it. kLimit if kWaitingOfOneMax of his wait.
  Task<std::shared_ptr<void>> take(std::string who = {});

  static constexpr size_t kWaitingOfOneMax = 256;

 private:
  struct One {
    int held = 0;
    std::deque<http::Finish> waiting;
  };
  void give(const std::string& who);
  http::Finish next();

  std::mutex mutex_;
  const int of_one_;
  int free_;
  std::map<std::string, One> all_;  // who holds one or waits
  std::deque<std::string> order_;   // of those who wait
};

/// Who asks, as turns are counted: the user, or an address that nobody has logged in from.
const std::string& who_asks(const Request& request);

}  // namespace linac::service
