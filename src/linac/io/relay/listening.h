#pragma once
// A process that others reach by a name at the relays of its room. A thread of its own keeps a connection to each
// relay, for as long as the object lives, and takes the calls that come there: a relay that dies is tried again until
// it is back. Thread-safe.

#include <chrono>
#include <list>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "linac/io/relay/relays.h"

namespace linac::relay {

class Listening {
 public:
  /// Environment error if there is no descriptor left. A relay that refuses or cannot be reached is no error here: it
  /// is told in a warning, once until it is there again.
  Listening(std::shared_ptr<const Relays> relays, std::string name);
  ~Listening();
  Listening(const Listening&) = delete;
  Listening& operator=(const Listening&) = delete;

  /// Readable while there are connections to take.
  int descriptor() const { return bell_.get(); }
  /// One of somebody of the room who has called, which does not block; none: no more now.
  Descriptor take();

 private:
  using Clock = std::chrono::steady_clock;
  struct Post;   // at one relay
  struct Taken;  // a call that is being taken

  void run();
  void begin(size_t relay, Post& post);
  bool serve(size_t relay, Post& post);
  void lose(size_t relay, Post& post, const std::string& why);
  void take_call(size_t relay, const std::string& ticket);
  bool go_on(Taken& taken);

  const std::shared_ptr<const Relays> relays_;
  const std::string name_;
  const Descriptor bell_, end_;
  std::vector<Post> posts_;  // the thread's alone
  std::list<Taken> taken_;   // likewise
  std::mutex mutex_;         // of what follows
  std::list<Descriptor> come_;
  std::thread thread_;
};

}  // namespace linac::relay
