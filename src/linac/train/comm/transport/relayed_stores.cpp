#include "linac/train/comm/transport/relayed_stores.h"

#include <fmt/format.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <list>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>
#include <stdexcept>
#include <thread>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/io/relay/listening.h"
#include "linac/train/comm/transport/control_links.h"

namespace linac::comm {
namespace {

using std::chrono::milliseconds;
using Clock = std::chrono::steady_clock;

// By which the relay knows who serves it; no worker's address.
constexpr const char* kName = "meeting";
constexpr milliseconds kAnswer{60'000}, kLook{50}, kTryAgain{200};
constexpr size_t kCallersMax = 8192;

// Of a frame that has come whole; it is taken out.
std::optional<nlohmann::json> take_frame(std::string& bytes) {
  if (bytes.size() < kFrameHeader) return std::nullopt;
  const size_t length = frame_length(bytes);
  if (length > ControlLinks::kMaxFrameBytes) throw std::runtime_error("a frame that is too long");
  if (bytes.size() < kFrameHeader + length) return std::nullopt;
  auto json = nlohmann::json::parse(bytes.substr(kFrameHeader, length), nullptr, false);
  if (!json.is_object()) throw std::runtime_error("a frame that cannot be read");
  bytes.erase(0, kFrameHeader + length);
  return json;
}

// Takes what has come; false if it was nothing.
bool receive(SecureLink& link, std::string& bytes) {
  constexpr size_t kPiece = 65536;
  const size_t before = bytes.size();
  bytes.resize(before + kPiece);
  const size_t size = link.receive(std::as_writable_bytes(std::span(bytes).subspan(before)));
  bytes.resize(before + size);
  return size > 0;
}

void send(SecureLink& link, std::string& bytes) {
  while (!bytes.empty()) {
    const size_t size = link.send(std::as_bytes(std::span(bytes)));
    if (size == 0) return;
    bytes.erase(0, size);
  }
}

class Host : public HostedStore {
 public:
  Host(const std::shared_ptr<const relay::Relays>& relays, std::shared_ptr<const LinkContext> context)
      : context_(std::move(context)), calls_(relays, kName), end_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {
    if (!end_) throw environment_error(fmt::format("[comm] no event ({}); raise ulimit -n", std::strerror(errno)));
    thread_ = std::thread([this] { run(); });
  }
  ~Host() override {
    const uint64_t one = 1;
    [[maybe_unused]] const auto written = write(end_.get(), &one, sizeof one);
    thread_.join();
  }
  int port() const override { return 0; }
  bool check(const std::string& key) override {
    const std::lock_guard lock(mutex_);
    return texts_.contains(key);
  }

 private:
  struct Caller {
    SecureLink link;
    std::string in{}, out{};
    bool secured = false;
  };

  void run() {
    for (;;) {
      std::vector<pollfd> polled{{end_.get(), POLLIN, 0}, {calls_.descriptor(), POLLIN, 0}};
      for (const Caller& one : callers_) {
        const int wanted = !one.secured ? one.link.awaits() : one.out.empty() ? POLLIN : POLLIN | POLLOUT;
        polled.push_back({one.link.descriptor(), static_cast<short>(wanted), 0});
      }
      if (poll(polled.data(), polled.size(), -1) < 0 && errno != EINTR) return;
      if (polled[0].revents != 0) return;
      size_t next = 2;
      std::erase_if(callers_, [&](Caller& one) { return polled[next++].revents != 0 && !serve(one); });
      if (polled[1].revents == 0) continue;
      for (Descriptor socket; (socket = calls_.take());)
        if (callers_.size() < kCallersMax)
          callers_.push_back({SecureLink(std::move(socket), context_, SecureLink::End::kCalled)});
    }
  }

  // False once the caller is gone.
  bool serve(Caller& one) {
    try {
      one.secured = one.secured || one.link.established();
      if (!one.secured) return true;
      while (receive(one.link, one.in)) {
      }
      while (const auto request = take_frame(one.in)) one.out += frame(answer(*request).dump());
      send(one.link, one.out);
      return true;
    } catch (const std::exception&) {
      return false;
    }
  }

  nlohmann::json answer(const nlohmann::json& request) {
    const std::lock_guard lock(mutex_);
    const std::string key = request.at("key");
    if (request.contains("text")) texts_[key] = request.at("text").get<std::string>();
    const auto found = texts_.find(key);
    return found == texts_.end() ? nlohmann::json::object() : nlohmann::json{{"text", found->second}};
  }

  const std::shared_ptr<const LinkContext> context_;
  relay::Listening calls_;
  const Descriptor end_;
  std::list<Caller> callers_;  // the thread's alone
  std::mutex mutex_;
  std::map<std::string, std::string> texts_;
  std::thread thread_;
};

class Store : public KeyStore {
 public:
  Store(std::shared_ptr<const relay::Relays> relays, std::shared_ptr<const LinkContext> context, milliseconds limit)
      : relays_(std::move(relays)), context_(std::move(context)) {
    ask({{"key", ""}}, limit);  // whether it is there
  }
  void set(const std::string& key, const std::string& text) override { ask({{"key", key}, {"text", text}}, kAnswer); }
  std::string get(const std::string& key) override {
    const auto text = wait_for(key, kAnswer);
    if (!text) throw std::runtime_error(fmt::format("'{}' is not there", key));
    return *text;
  }
  void wait(const std::string& key, milliseconds limit) override {
    if (!wait_for(key, limit)) throw std::runtime_error(fmt::format("'{}' is not there in time", key));
  }
  bool check(const std::string& key) override { return ask({{"key", key}}, kAnswer).contains("text"); }

 private:
  std::optional<std::string> wait_for(const std::string& key, milliseconds limit) {
    for (const auto end = Clock::now() + limit;;) {
      const auto left = std::chrono::duration_cast<milliseconds>(end - Clock::now());
      const auto found = ask({{"key", key}}, std::max(left, milliseconds(1)));
      if (found.contains("text")) return found.at("text").get<std::string>();
      if (Clock::now() + kLook >= end) return std::nullopt;
      std::this_thread::sleep_for(kLook);
    }
  }

  // Asked twice it is as if asked once, so it is asked again where the way there breaks.
  nlohmann::json ask(const nlohmann::json& request, milliseconds limit) {
    for (const auto end = Clock::now() + limit;;) {
      try {
        if (!link_) connect(end);
        std::string out = frame(request.dump());
        for (send(link_, out); !out.empty(); send(link_, out)) await(POLLOUT, end);
        for (;;) {
          if (const auto answer = take_frame(in_)) return *answer;
          if (!receive(link_, in_)) await(POLLIN, end);
        }
      } catch (const std::runtime_error& error) {
        link_.reset();
        in_.clear();
        if (Clock::now() + kTryAgain >= end) throw;
        std::this_thread::sleep_for(kTryAgain);
      }
    }
  }

  void connect(Clock::time_point end) {
    relay::Relays::Begun begun = relays_->call(kName);
    if (!begun.socket) throw std::runtime_error("there is no way to the relay");
    link_ = SecureLink(std::move(begun.socket), context_, SecureLink::End::kCaller, std::move(begun.approach));
    while (!link_.established()) await(link_.awaits(), end);
  }

  void await(short events, Clock::time_point end) {
    pollfd one{link_.descriptor(), events, 0};
    const auto left = std::chrono::ceil<milliseconds>(end - Clock::now()).count();
    if (left <= 0 || poll(&one, 1, static_cast<int>(left)) == 0) throw std::runtime_error("no answer in time");
  }

  const std::shared_ptr<const relay::Relays> relays_;
  const std::shared_ptr<const LinkContext> context_;
  SecureLink link_;
  std::string in_;
};

}  // namespace

RelayedStores::RelayedStores(std::shared_ptr<const relay::Relays> relays, std::shared_ptr<const LinkContext> context)
    : relays_(std::move(relays)), context_(std::move(context)) {}

std::unique_ptr<HostedStore> RelayedStores::host(const std::string&, int) const {
  return std::make_unique<Host>(relays_, context_);
}

std::unique_ptr<KeyStore> RelayedStores::reach(const std::string&, int, milliseconds limit) const {
  return std::make_unique<Store>(relays_, context_, limit);
}

}  // namespace linac::comm
