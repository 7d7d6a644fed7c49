#include "linac/control/http/server/stream.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>
#include <string>

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
  /// `first`: what was read from the socket before.
  explicit SocketStream(Socket socket, std::string first = "") : socket_(std::move(socket)), first_(std::move(first)) {}

  Task<bool> begin(Seconds limit) override {
    if constexpr (kSecure) {
      lowest().expires_after(limit);
      const auto [error, used] =
          co_await socket_.async_handshake(asio::ssl::stream_base::server, asio::buffer(first_), kTuple);
      const bool all = used == first_.size();
      first_.clear();
      co_return !error && all;
    }
    static_cast<void>(limit);
    co_return true;
  }

  Task<size_t> read_some(asio::mutable_buffer into, Seconds limit) override {
    if (const size_t had = asio::buffer_copy(into, asio::buffer(first_)); had > 0) {
      first_.erase(0, had);
      co_return had;
    }
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
  std::string first_;
};

using Plain = SocketStream<beast::tcp_stream>;
using Secure = beast::ssl_stream<beast::tcp_stream>;

// Which of both it is, the client's first byte says (RFC 8446, 5.1: a record of a handshake begins with 22, which no
// method of HTTP does).
class EitherStream : public Stream {
 public:
  EitherStream(tcp::socket socket, asio::ssl::context& own) : waiting_(std::move(socket)), own_(own) {}

  Task<bool> begin(Seconds limit) override {
    constexpr char kHandshake = 22;
    std::string first(1, 0);
    waiting_.expires_after(limit);
    const auto [error, bytes] = co_await waiting_.async_read_some(asio::buffer(first), kTuple);
    if (error || bytes == 0) co_return false;
    const bool secure = first[0] == kHandshake;
    if (secure)
      chosen_ = std::make_unique<SocketStream<Secure>>(Secure(std::move(waiting_), own_), std::move(first));
    else
      chosen_ = std::make_unique<Plain>(std::move(waiting_), std::move(first));
    const bool begun = co_await chosen_->begin(limit);
    co_return begun;
  }
  Task<size_t> read_some(asio::mutable_buffer into, Seconds limit) override { return chosen_->read_some(into, limit); }
  Task<bool> write(const std::vector<asio::const_buffer>& buffers, Seconds limit) override {
    return chosen_->write(buffers, limit);
  }
  Task<void> end(Seconds limit) override {
    if (chosen_) co_await chosen_->end(limit);
  }
  Task<void> linger(Seconds limit) override {
    if (chosen_) co_await chosen_->linger(limit);
  }
  void cancel() override {
    if (chosen_)
      chosen_->cancel();
    else
      waiting_.cancel();
  }

 private:
  beast::tcp_stream waiting_;
  asio::ssl::context& own_;
  std::unique_ptr<Stream> chosen_;
};

}  // namespace

std::unique_ptr<Stream> make_stream(tcp::socket socket, asio::ssl::context* tls, asio::ssl::context* own) {
  if (!tls && own) return std::make_unique<EitherStream>(std::move(socket), *own);
  if (!tls) return std::make_unique<Plain>(beast::tcp_stream(std::move(socket)));
  return std::make_unique<SocketStream<Secure>>(Secure(beast::tcp_stream(std::move(socket)), *tls));
}

}  // namespace linac::http
