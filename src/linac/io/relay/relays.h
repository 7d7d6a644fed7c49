#pragma once
// The relays of a run, by their addresses, and the way from a new connection to one whose other end is of the room.
// Relays: thread-safe; the addresses are looked up once. Approach: one thread at a time; never waits.

#include <atomic>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/io/relay/addresses.h"
#include "linac/io/relay/words.h"

namespace linac::relay {

/// What is said to a relay before the connection is the caller's own.
class Approach {
 public:
  /// `on_failure`: called once if it is given up before the relay has said ok.
  Approach(std::shared_ptr<const Identity> identity, std::string pass, Role role, std::string name,
           std::function<void()> on_failure);
  ~Approach();
  Approach(Approach&& other) noexcept;
  Approach& operator=(Approach&& other) noexcept;

  /// Goes on over this socket, which does not block; true once the relay has said ok, and nothing behind that was read.
  /// std::runtime_error with the reason: the relay refuses, or is none.
  bool advance(int socket);
  /// POLLIN or POLLOUT: what it waits for.
  short awaits() const;

 private:
  enum class Step { kGreeted, kHello, kAnswer, kDone };  // what comes next, but for the last
  bool read_line(int socket);

  std::shared_ptr<const Identity> identity_;
  Role role_;
  std::string pass_, name_;
  std::string out_, line_;
  Step step_ = Step::kGreeted;
  std::function<void()> on_failure_;
};

class Relays {
 public:
  /// "HOST:PORT", several behind commas. `source`: what says so, for messages. `pass`: what a relay with a list wants
  /// to see (access.h); empty: none. User error for text that is none; environment error when a host is unknown.
  Relays(std::string_view text, const std::string& source, const Identity::Seed& seed, std::string pass = "");

  size_t size() const { return relays_.size(); }
  const std::string& address(size_t relay) const { return relays_.at(relay).words; }
  std::pair<std::string, int> host_and_port(size_t relay) const;

  struct Begun {
    Descriptor socket;  // none: there is no way to the relay now
    Approach approach;
  };
  /// A connection that is being made to a relay. Environment error if there is no descriptor left.
  Begun begin(size_t relay, Role role, const std::string& name) const;
  /// To who listens by this name, by the relay that the last call led to; where that one failed, by the next.
  Begun call(const std::string& name) const;

 private:
  struct Place {
    std::string words;
    Address address;
  };
  std::shared_ptr<const Identity> identity_;
  std::string pass_;
  std::vector<Place> relays_;
  std::shared_ptr<std::atomic<size_t>> preferred_ = std::make_shared<std::atomic<size_t>>(0);
};

/// A connection that nobody uses for long is kept by the routers between, and one whose other end is gone is noticed.
void keep_alive(int socket);

}  // namespace linac::relay
