#pragma once
// The listener and the threads of the connections, each thread with an io_context of its own: what belongs to a
// connection is used by one thread alone.

#include <atomic>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>

#include "linac/control/http/routes/dispatcher.h"
#include "linac/control/http/traffic.h"

namespace linac::http {

struct ServerSettings {
  std::string host;  // numeric address
  uint16_t port = 0;
  int socket = -1;  // one that listens there already, and is the server's from now on; -1: it makes one
  int threads = 2;
  int connections_max = 4096;
  int connections_of_address_max = 1024;
  TrustedProxies proxies;                          // whose connections are counted with all alone
  int64_t keep_free = 0;                           // bytes of the disk with `uploads`
  std::filesystem::path tls_certificate, tls_key;  // none: plain
  std::string own_pem;  // certificate and key for those who begin by a handshake where all else is plain; none: ""
  std::filesystem::path uploads;  // bodies of kFile as they arrive
};

class Server {
 public:
  /// Listens from here on; what it is given outlives it. `end_events` is called when it stops: all sources of events
  /// end then. Environment error if the address cannot be had, user error for a certificate or key that cannot be used.
  Server(Dispatcher& dispatcher, Traffic& traffic, const ServerSettings& settings, std::function<void()> end_events);
  ~Server();  // stop()

  uint16_t port() const;
  /// Takes no further connections, ends those that wait, lets the others finish what they are at for kFinishSeconds.
  /// Once; not from a handler.
  void stop();

  static constexpr int kFinishSeconds = 10;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

/// "127.0.0.1:5000", "[::1]:5000", "localhost:5000", ":5000" (127.0.0.1); user error else.
struct Address {
  std::string host;  // numeric
  uint16_t port = 0;
  bool loopback = true;
};
Address parse_address(const std::string& text);

}  // namespace linac::http
