#pragma once
// A client's bytes, plain or by TLS alike, each operation with a limit of time. Keeps the templates of sockets and TLS
// in one source. For the one coroutine and thread of its connection.

#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <memory>
#include <vector>

#include "linac/control/http/routes/route.h"

namespace linac::http {

class Stream {
 public:
  virtual ~Stream() = default;
  using Seconds = std::chrono::seconds;

  /// The handshake of TLS, if there is one; whether it went well.
  virtual Task<bool> begin(Seconds limit) = 0;
  /// How many bytes came; 0 for the end, an error, a cancel() or no byte in time.
  virtual Task<size_t> read_some(boost::asio::mutable_buffer into, Seconds limit) = 0;
  /// All of them; whether they went out in time.
  virtual Task<bool> write(const std::vector<boost::asio::const_buffer>& buffers, Seconds limit) = 0;
  /// Says that nothing more comes from here.
  virtual Task<void> end(Seconds limit) = 0;
  /// After end(): forgets what the client still sends, until it ends too, for `limit` at most. A socket that is closed
  /// with bytes unread resets the connection, and the client may lose the answer.
  virtual Task<void> linger(Seconds limit) = 0;
  /// Ends the operation that waits. On the connection's thread.
  virtual void cancel() = 0;
};

/// `tls` null: plain; or by `own`, if that is not null and the client's first byte is that of a handshake.
std::unique_ptr<Stream> make_stream(boost::asio::ip::tcp::socket socket, boost::asio::ssl::context* tls,
                                    boost::asio::ssl::context* own);

}  // namespace linac::http
