#pragma once
// Short messages between the processes of a run: a listener, a link to each process that is spoken to, those that came
// in. Links are secure (secure_link.h); what strangers open is closed, and takes no place of others. Every link begins
// with a hello. One for data is handed on after it. A link that nobody watches is closed once nothing has been sent
// over it for some seconds, and opened again where something is. One thread.

#include <chrono>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/transport/secure_link.h"
#include "linac/train/comm/transport/ways.h"

namespace linac::comm {

/// What a link begins with.
struct Hello {
  std::string to;        // the address that was called: a link that somebody has led elsewhere is closed
  uint64_t from = 0;     // the sender's key
  int64_t view = 0;      // for data: of this view; 0: a connection for messages
  uint64_t channel = 0;  // for data: of the group's part with this number (group.h); 0: of the whole group
};

/// A frame: four bytes of length, little-endian, and as many bytes. At most kMaxFrameBytes.
std::string frame(std::string_view bytes);
std::string encode(const Hello& hello);

class ControlLinks {
 public:
  static constexpr std::chrono::milliseconds kUnusedTime{3000};
  static constexpr size_t kMaxFrameBytes = 4 << 20, kMaxHelloBytes = 4096, kMaxQueuedBytes = 16 << 20;

  /// Listens at `host`, a numeric address, at a free port of the range. Others find it at `advertise`, a numeric
  /// address too; empty: the same. Environment error if that fails.
  /// `ways`: how those of other groups are reached; none: all directly.
  ControlLinks(const std::string& host, const std::string& advertise, const PortRange& ports,
               std::shared_ptr<const LinkContext> context, std::shared_ptr<const Ways> ways = nullptr);

  const std::string& address() const { return address_; }  // "10.0.0.3:41233", or as Ways has it
  size_t descriptors() const { return 1 + incoming_.size() + outgoing_.size(); }

  /// Queues; opens the connection first if there is none. What cannot be delivered is dropped.
  void send(const std::string& to, std::string_view bytes, uint64_t from);

  struct Data {
    Hello hello;
    SecureLink link;
  };
  struct News {
    std::vector<std::string> messages;
    std::vector<std::string> refused;  // addresses where nobody listens
    std::vector<Data> data;
  };
  /// Moves bytes until there is news, `wake` is readable, or the time is over. A broken connection to one of the
  /// `watched` addresses is tried anew, so that an ended process is news at once.
  News wait(int wake, std::chrono::milliseconds patience, const std::vector<std::string>& watched);

 private:
  using Clock = std::chrono::steady_clock;
  struct Incoming {
    SecureLink link;
    std::string bytes;
    bool secured = false, greeted = false;
    Clock::time_point since;
  };
  struct Outgoing {
    SecureLink link;
    std::string queue;
    bool connected = false, secured = false;
    uint64_t from = 0;
    Clock::time_point since, used;
  };

  void open(const std::string& to, Outgoing& link, News* news);
  bool write(const std::string& to, Outgoing& link, short events, News& news);
  bool read(Incoming& link, News& news);
  bool take_frames(Incoming& link, News& news);
  void accept_some();
  void welcome(Descriptor socket);
  Clock::time_point next_try(const std::string& to) const;
  void make_room();
  void close_unused(const std::vector<std::string>& watched);
  void try_again(const std::vector<std::string>& watched, News& news);

  const std::shared_ptr<const LinkContext> context_;
  const std::shared_ptr<const Ways> ways_;
  Descriptor listener_;
  std::string address_;
  std::unique_ptr<relay::Listening> by_relay_;  // what others open by way of it
  std::list<Incoming> incoming_;
  Clock::time_point accept_again_{};  // not before: there was no descriptor left
  Clock::time_point looked_for_unused_{};
  std::map<std::string, Outgoing> outgoing_;
  std::map<std::string, std::pair<Clock::time_point, uint64_t>> broken_;  // when to try again, as whom
  News early_;                                                            // found while sending
};

/// The length in a frame's first kFrameHeader bytes.
inline constexpr size_t kFrameHeader = 4;
uint32_t frame_length(std::string_view bytes);

/// A new connection, not yet made; environment error if the address is malformed or there is no descriptor left.
/// `refused` is set if nobody listens, which may be known at once.
Descriptor begin_connecting(const std::string& address, bool& refused);
/// 0, or the errno of a connection that could not be made.
int connection_error(int socket);

}  // namespace linac::comm
