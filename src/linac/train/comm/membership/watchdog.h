#pragma once
// Whether what must go on in a process does go on. A thread of its own looks at the posts now and then. It takes no
// lock that others hold while they wait for a disk or a network, so it notices also when these never answer.
//
// Its clock counts only the time in which this process runs: after a halt (SIGSTOP, a suspended batch job) nothing has
// hung. On a busy host it goes slower, by the time in which a thread of the process was ready and had no processor, but
// never slower than at a quarter: who waits for a thread that computes in vain is found out as well. Thread-safe.

#include <array>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "linac/train/comm/membership/membership_message.h"

namespace linac::comm {

class Watchdog {
 public:
  enum class Post : size_t {
    kTraining,
    kMembership,  // the thread that keeps it up
    kViews,       // the file of the next view
    kCheckpoint,  // a file that is written while the training goes on
    kCount,
  };

  /// Of one that hangs: what it is at, and for how many seconds.
  using GiveUp = std::function<void(const std::string& what, double seconds)>;
  /// `give_up` is called once, on the watchdog's thread, when a watched post has said nothing for `limit`.
  Watchdog(std::chrono::milliseconds limit, GiveUp give_up);
  ~Watchdog();
  Watchdog(const Watchdog&) = delete;
  Watchdog& operator=(const Watchdog&) = delete;

  /// What a post is at from now on; `number` (-1: none) tells it from others of the kind. Unwatched: it waits for other
  /// processes, or has nothing to do. At first none is watched. The training's work counts its pieces as well
  /// (base/base/piece_of_work.h). `patience`: in limits, for what cannot say much.
  void mark(Post post, const std::string& what, int number, bool watched, int patience = 1);
  /// Without pace and account.
  Activity activity(Post post) const;

 private:
  struct Mark {
    std::string what;
    int number = -1;
    bool watched = false;
    int patience = 1;
    int64_t since_ms = 0;
  };

  void run();
  int64_t longest_silence() const;
  static std::string in_words(const Mark& mark);

  const int64_t limit_ms_;
  const GiveUp give_up_;
  mutable std::mutex mutex_;  // of everything below; held for moments only
  std::condition_variable ending_now_;
  std::array<Mark, static_cast<size_t>(Post::kCount)> marks_;
  int64_t clock_ms_ = 0;
  uint64_t pieces_ = 0;  // of work, when last looked
  bool ending_ = false;
  std::thread thread_;
};

}  // namespace linac::comm
