#pragma once
// For tests: a web server on the loopback interface that answers what a test wants.

#include <arpa/inet.h>
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <functional>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace linac::storage::test {

// Answers each request on the loopback interface with what `answer` returns, and then closes the connection.
class Server {
 public:
  using Answer = std::function<std::string(const std::string& request)>;

  /// Side by side: a thread a connection, so `answer` must be thread-safe.
  enum class Connections { kInTurn, kSideBySide };

  explicit Server(Answer answer, Connections connections = Connections::kInTurn)
      : answer_(std::move(answer)), listener_(::socket(AF_INET, SOCK_STREAM, 0)), connections_(connections) {
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    EXPECT_EQ(::bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    EXPECT_EQ(::getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &size), 0);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~Server() { stop(); }

  void stop() {
    if (!thread_.joinable()) return;
    ::shutdown(listener_, SHUT_RDWR);
    thread_.join();
    ::close(listener_);
  }
  std::string url(const std::string& name) const { return fmt::format("http://127.0.0.1:{}/{}", port_, name); }
  std::vector<std::string> requests() const {
    const std::scoped_lock lock(mutex_);
    return requests_;
  }

 private:
  static bool is_whole(const std::string& request) {
    const size_t end = request.find("\r\n\r\n"), length = request.find("Content-Length: ");
    if (end == std::string::npos || length > end) return end != std::string::npos;
    return request.size() >= end + 4 + std::stoul(request.substr(length + 16));
  }

  void serve() {
    for (;;) {
      const int connection = ::accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      if (connections_ == Connections::kInTurn)
        answer(connection);
      else
        others_.emplace_back([this, connection] { answer(connection); });
    }
  }

  void answer(int connection) {
    std::string request;
    char buffer[65536];
    while (!is_whole(request)) {
      const ssize_t size = ::recv(connection, buffer, sizeof buffer, 0);
      if (size <= 0) break;
      request.append(buffer, static_cast<size_t>(size));
    }
    {
      const std::scoped_lock lock(mutex_);
      requests_.push_back(request);
    }
    const std::string reply = answer_(request);
    for (size_t sent = 0; sent < reply.size();) {
      const ssize_t size = ::send(connection, reply.data() + sent, reply.size() - sent, MSG_NOSIGNAL);
      if (size <= 0) break;
      sent += static_cast<size_t>(size);
    }
    ::shutdown(connection, SHUT_WR);
    ::close(connection);
  }

  Answer answer_;
  int listener_;
  Connections connections_;
  uint16_t port_ = 0;
  mutable std::mutex mutex_;
  std::vector<std::string> requests_;
  std::thread thread_;
  std::vector<std::jthread> others_;
};

inline std::string ok(const std::string& body, const std::string& headers) {
  return fmt::format("HTTP/1.1 200 OK\r\nContent-Length: {}\r\n{}Connection: close\r\n\r\n{}", body.size(), headers,
                     body);
}

/// What a server with ranges and ETags says; counts what it sends.
struct Ranges {
  std::string body, headers = "ETag: \"v1\"\r\n";
  std::atomic<int64_t> sent = 0;
  std::atomic<int> asked = 0;
  size_t cut = 0;  // bytes missing at the end of long answers

  std::string operator()(const std::string& request) {
    ++asked;
    const size_t range = request.find("Range: bytes=");
    if (request.starts_with("HEAD")) return "HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
    if (range == std::string::npos) return ok(body, headers);
    const size_t first = std::stoul(request.substr(range + 13));
    const size_t last = std::min(body.size() - 1, std::stoul(request.substr(request.find('-', range + 13) + 1)));
    std::string part = body.substr(first, last + 1 - first);
    std::string answer = fmt::format(
        "HTTP/1.1 206 Partial Content\r\nContent-Range: bytes {}-{}/{}\r\nContent-Length: {}\r\n{}"
        "Connection: close\r\n\r\n",
        first, last, body.size(), part.size(), headers);
    if (part.size() > cut) part.resize(part.size() - cut);
    sent += static_cast<int64_t>(part.size());
    return answer + part;
  }
};

}  // namespace linac::storage::test
