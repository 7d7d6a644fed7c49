#pragma once
// The relay: takes connections, asks each who it is (words.h), and joins those of a room in pairs, a call and who takes
// it. It copies what travels between them and reads none of it. What one end does not take the other is not asked for,
// so that what lies here of a pair is bounded (kPieceBytes a direction). Everything else has a limit too, below.
//
// It keeps nothing: one that is started again has its callers back as soon as they have called.
//
// run() is for one thread; allow(), stop() and facts() for any.

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/io/relay/access.h"
#include "linac/io/relay/words.h"

namespace linac::relay {

struct ServerLimits {
  size_t connections = 16384;                   // all of them; who comes then is closed
  size_t connections_of_room = 4096;            // likewise
  size_t unproved = 256;                        // that have yet to say who they are; the oldest gives way
  std::chrono::milliseconds hello{10'000};      // for a hello to come
  std::chrono::milliseconds absent{3'000};      // a call waits so long for who does not listen, and may be back soon
  std::chrono::milliseconds take{10'000};       // a call that was announced waits to be taken
  std::chrono::milliseconds half_open{30'000};  // one end of a pair has closed, and nothing comes from the other
  std::chrono::milliseconds idle{24LL * 3600 * 1000};  // nothing goes either way
};

/// What has happened since it began.
struct ServerFacts {
  uint64_t accepted = 0, refused = 0, strangers = 0, joined = 0, bytes = 0;
  size_t connections = 0, rooms = 0, bytes_held = 0;
};

class Server {
 public:
  static constexpr size_t kPieceBytes = 128 << 10;

  /// Environment error if there is no descriptor left.
  explicit Server(ServerLimits limits = {});
  ~Server();
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;

  /// Takes connections at this listening socket from now on. Before run().
  void listen(Descriptor listener);
  /// Who may use it from now on; connections of others are closed. Until then anybody.
  void allow(Access access);
  /// Works until stop().
  void run();
  void stop();
  ServerFacts facts() const;

 private:
  using Clock = std::chrono::steady_clock;
  enum class State { kHello, kListening, kCalling, kAnnounced, kJoined };
  struct Connection;
  struct Room;

  void accept_some(int listener);
  void welcome(Descriptor socket, std::string from);
  void ring();
  bool is_told_to_end();
  void turn_away(Connection& one);
  void on_event(Connection& one, uint32_t events);
  void hear(Connection& one);
  void place(Connection& one, const Hello& hello);
  void announce(Connection& call, Connection& listener);
  void join(Connection& call, Connection& taker);
  void say(Connection& one, std::string_view line);
  void refuse(Connection& one, std::string_view why);
  void flush(Connection& one);
  void pump(Connection& from, Connection& to);
  void close(Connection& one);
  void want(Connection& one);
  void watch_time();
  void sweep();
  Connection* find(uint64_t id);

  const ServerLimits limits_;
  std::shared_ptr<const Access> access_ = std::make_shared<const Access>();
  Descriptor poll_, bell_;
  std::vector<Descriptor> listeners_;
  std::map<uint64_t, std::unique_ptr<Connection>> all_;
  std::map<std::string, Room> rooms_;
  std::vector<std::unique_ptr<Connection>> closed_;  // in this turn: still named by what is under way
  std::vector<char> piece_;
  uint64_t next_ = 0;
  size_t unproved_ = 0;
  Clock::time_point accept_again_{}, watched_{};
  bool deaf_ = false;         // no descriptor was left
  mutable std::mutex mutex_;  // of what follows
  bool ending_ = false;
  std::shared_ptr<const Access> wanted_;
  ServerFacts facts_;
};

}  // namespace linac::relay
