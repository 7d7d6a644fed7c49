#pragma once
// For tests: a small store over TCP, which builds without LibTorch have too. Each question has a connection of its own,
// which the asker closes: "S", key, newline, text; or "G", key. The answer is "+" and the text, or "-".

#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <thread>

#include "linac/base/base/descriptor.h"
#include "linac/train/comm/meeting/key_store.h"
#include "linac/train/comm/meeting/sockets.h"

namespace linac::comm::testing {

/// What comes through a socket until its other end is closed.
inline std::string all_of(int socket) {
  std::string text;
  char buffer[4096];
  for (ssize_t size = 0; (size = recv(socket, buffer, sizeof buffer, 0)) > 0;)
    text.append(buffer, static_cast<size_t>(size));
  return text;
}

class LoopbackHost : public HostedStore {
 public:
  LoopbackHost(const std::string& addr, int port) : socket_(listen_at(addr, port)), port_(port_of(socket_.get())) {
    thread_ = std::thread([this] { serve(); });
  }
  ~LoopbackHost() override {
    shutdown(socket_.get(), SHUT_RDWR);  // ends accept()
    thread_.join();
  }
  int port() const override { return port_; }
  bool check(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    return texts_.contains(key);
  }

 private:
  void serve() {
    for (;;) {
      const Descriptor asker(accept4(socket_.get(), nullptr, nullptr, SOCK_CLOEXEC));
      if (!asker && errno != EINTR && errno != ECONNABORTED) return;
      if (!asker) continue;
      const timeval limit{.tv_sec = 5, .tv_usec = 0};  // for one that is halted while it asks
      setsockopt(asker.get(), SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
      const std::string answer = answer_to(all_of(asker.get()));
      [[maybe_unused]] const auto sent = send(asker.get(), answer.data(), answer.size(), MSG_NOSIGNAL);
    }
  }

  std::string answer_to(const std::string& question) {
    const std::lock_guard lock(mutex_);
    if (question.starts_with('G')) {
      const auto found = texts_.find(question.substr(1));
      return found == texts_.end() ? "-" : "+" + found->second;
    }
    const size_t end = question.find('\n');
    if (!question.starts_with('S') || end == std::string::npos) return "-";
    texts_[question.substr(1, end - 1)] = question.substr(end + 1);
    return "+";
  }

  const Descriptor socket_;
  const int port_;
  std::mutex mutex_;
  std::map<std::string, std::string> texts_;
  std::thread thread_;
};

class LoopbackStore : public KeyStore {
 public:
  LoopbackStore(const std::string& addr, int port, std::chrono::milliseconds limit)
      : address_(host_and_port(addr, port)) {
    const auto end = Clock::now() + limit;
    for (;;) {
      try {
        check("");
        return;
      } catch (const std::runtime_error&) {
        if (Clock::now() >= end) throw;
      }
      std::this_thread::sleep_for(kAgain);
    }
  }
  void set(const std::string& key, const std::string& text) override { ask("S" + key + "\n" + text); }
  std::string get(const std::string& key) override {
    wait(key, kAnswer);
    return find(key).value();
  }
  void wait(const std::string& key, std::chrono::milliseconds limit) override {
    for (const auto end = Clock::now() + limit; !check(key); std::this_thread::sleep_for(kAgain)) {
      if (Clock::now() >= end) throw std::runtime_error("timed out");
    }
  }
  bool check(const std::string& key) override { return find(key).has_value(); }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::milliseconds kAgain{5}, kAnswer{60'000};

  std::optional<std::string> find(const std::string& key) {
    const std::string answer = ask("G" + key);
    return answer.starts_with('+') ? std::optional(answer.substr(1)) : std::nullopt;
  }

  std::string ask(const std::string& question) {
    const SocketAddress there = socket_address(address_);
    const Descriptor socket(::socket(there.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (!socket || connect(socket.get(), there.get(), there.size) != 0 ||
        send(socket.get(), question.data(), question.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(question.size()))
      throw std::runtime_error(std::strerror(errno));
    shutdown(socket.get(), SHUT_WR);
    const std::string answer = all_of(socket.get());
    if (answer.empty()) throw std::runtime_error("the store has ended");
    return answer;
  }

  const std::string address_;
};

class LoopbackStores : public Stores {
 public:
  std::unique_ptr<HostedStore> host(const std::string& addr, int port) const override {
    return std::make_unique<LoopbackHost>(addr, port);
  }
  std::unique_ptr<KeyStore> reach(const std::string& addr, int port, std::chrono::milliseconds limit) const override {
    return std::make_unique<LoopbackStore>(addr, port, limit);
  }
};

inline const Stores& loopback_stores() {
  static const LoopbackStores stores;
  return stores;
}

}  // namespace linac::comm::testing
