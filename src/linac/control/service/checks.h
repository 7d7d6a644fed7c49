#pragma once
// Work on files that strangers name: a disk may never answer, and a search may take long. It has threads of its own, so
// nobody else waits for it, few for each user, and an end to the waiting. Thread-safe.

#include <chrono>
#include <functional>
#include <memory>
#include <string>

#include "linac/control/service/http_words.h"

namespace linac::service {

class Checks {
 public:
  Checks();
  /// Whoever waits need not wait longer: kLimit.
  void stop();
  /// The connections are at rest, and nobody is told anything any longer. Waits for nobody: what hangs is left behind.
  void close();

  /// Returns when `work` has ended, throws what it throws; kLimit after kWaitMax, or if too much of this user waits.
  /// `work` may then go on, so it owns all that it uses. Not to be given a
  /// temporary: gcc 12 destroys those of a co_await twice.
  Task<void> run(const std::string& user, const std::function<void()>& work);

  static constexpr int kThreadsMax = 8, kThreadsOfUserMax = 2, kWaitingOfUserMax = 64;
  static constexpr std::chrono::seconds kWaitMax{30};

 private:
  struct State;
  std::shared_ptr<State> state_;
};

}  // namespace linac::service
