#include "linac/control/http/server/stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

namespace linac::http {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
using asio::ip::tcp;
using boost::system::error_code;

constexpr auto kTuple = asio::as_tuple(asio::use_awaitable);
constexpr size_t kForgottenBytes = 64 * 1024;  // at once

template <class Socket>
class SocketStream : public Stream {
 public:
  explicit SocketStream(Socket socket) : socket_(std::move(socket)) {}

  Task<bool> begin(Seconds limit) override {
    if constexpr (kSecure) {
      lowest().expires_after(limit);
      const auto [error] = co_await socket_.async_handshake(asio::ssl::stream_base::server, kTuple);
      co_return !error;
    }
    static_cast<void>(limit);
    co_return true;
  }

  Task<size_t> read_some(asio::mutable_buffer into, Seconds limit) override {
    lowest().expires_after(limit);
    const auto [error, bytes] = co_await socket_.async_read_some(into, kTuple);
    co_return error ? 0 : bytes;
  }

  Task<bool> write(const std::vector<asio::const_buffer>& buffers, Seconds limit) override {
    lowest().expires_after(limit);
    const auto [error, bytes] = co_await asio::async_write(socket_, buffers, kTuple);
    static_cast<void>(bytes);
    co_return !error;
  }

  Task<void> end(Seconds limit) override {
    if constexpr (kSecure) {
      lowest().expires_after(limit);
      const auto [error] = co_await socket_.async_shutdown(kTuple);
      static_cast<void>(error);  // the client may have gone
    }
    static_cast<void>(limit);
    error_code ignored;
    lowest().socket().shutdown(tcp::socket::shutdown_send, ignored);
    co_return;
  }

  Task<void> linger(Seconds limit) override {
    lowest().expires_after(limit);
    std::vector<char> piece(kForgottenBytes);
    error_code failure;
    while (!failure) {
      const auto [error, bytes] = co_await lowest().async_read_some(asio::buffer(piece), kTuple);
      static_cast<void>(bytes);
      failure = error;
    }
  }

  void cancel() override { lowest().cancel(); }

 private:
  static constexpr bool kSecure = !std::is_same_v<Socket, beast::tcp_stream>;
  beast::tcp_stream& lowest() { return beast::get_lowest_layer(socket_); }

  Socket socket_;
};

}  // namespace

std::unique_ptr<Stream> make_stream(tcp::socket socket, asio::ssl::context* tls) {
  using Secure = beast::ssl_stream<beast::tcp_stream>;
  if (!tls) return std::make_unique<SocketStream<beast::tcp_stream>>(beast::tcp_stream(std::move(socket)));
  return std::make_unique<SocketStream<Secure>>(Secure(beast::tcp_stream(std::move(socket)), *tls));
}

}  // namespace linac::http
