#pragma once
// A client's connection: requests one after another, each with its limits of size and time, until one side ends it.
// Runs as a coroutine on the thread of its io_context.

#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <set>

#include "linac/service/context.h"
#include "linac/service/dispatcher.h"
#include "linac/service/stream.h"

namespace linac::service {

/// The connections of one thread that wait for a request; used by that thread alone.
using Idle = std::set<Stream*>;

struct ConnectionPlace {
  Context& context;
  Dispatcher& dispatcher;
  Idle& idle;
  boost::asio::ssl::context* tls = nullptr;  // null: plain
};

/// Ends without throwing. Takes itself off context.traffic.connections at its end.
Task<void> converse(ConnectionPlace place, boost::asio::ip::tcp::socket socket);

}  // namespace linac::service
