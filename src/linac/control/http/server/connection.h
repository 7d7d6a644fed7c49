#pragma once
// A client's connection: requests one after another, each with its limits of size and time, until one side ends it.
// Runs as a coroutine on the thread of its io_context.

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <filesystem>
#include <set>

#include "linac/control/http/routes/dispatcher.h"
#include "linac/control/http/server/guests.h"
#include "linac/control/http/server/large_turns.h"
#include "linac/control/http/server/stream.h"
#include "linac/control/http/traffic.h"

namespace linac::http {

/// The connections of one thread that wait for a request; used by that thread alone.
using Idle = std::set<Stream*>;

struct ConnectionPlace {
  Dispatcher& dispatcher;
  Traffic& traffic;
  const std::filesystem::path& uploads;
  Idle& idle;
  LargeTurns& large_turns;
  boost::asio::ssl::context* tls = nullptr;  // null: plain, but for those who begin by a handshake ...
  boost::asio::ssl::context* own = nullptr;  // ... if there is this
  int64_t keep_free = 0;                     // bytes of the disk with `uploads`
};

/// Ends without throwing. Takes itself off traffic.connections at its end, and leaves `guest`. `from`: the other end's
/// address. `stream` becomes the connection's, for as long as it lasts.
Task<void> converse(ConnectionPlace place, boost::asio::ip::tcp::socket socket, std::string from,
                    std::shared_ptr<Guest> guest, std::shared_ptr<Stream*> stream);

}  // namespace linac::http
