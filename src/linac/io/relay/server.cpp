#include "linac/io/relay/server.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/secure_random.h"
#include "linac/io/relay/addresses.h"
#include "linac/io/relay/relays.h"

namespace linac::relay {
namespace {

using std::chrono::milliseconds;

constexpr size_t kNonceDigits = 32, kTicketDigits = 32;
constexpr int kEventsAtOnce = 256, kAcceptAtOnce = 64;
// Pieces of one end before the others have their turn.
constexpr int kPiecesAtOnce = 4;
// Lines for a listener that it has not read: it hangs, and is closed.
constexpr size_t kUnreadMax = 64 << 10;
constexpr milliseconds kWatch{250}, kAcceptAgain{100}, kStill{15'000};
// Below all numbers of connections.
constexpr uint64_t kBell = 0, kFirstListener = 1, kFirstConnection = 1024;

}  // namespace

struct Server::Connection {
  uint64_t id = 0;
  Descriptor socket;
  State state = State::kHello;
  std::string nonce{}, line{};  // of the hello
  std::string room{}, name{};   // of a call: whom; of a listener: who
  std::string from{}, user{};   // the other end's address, and whose pass it has shown
  std::string ticket{};         // of a call that was announced
  std::string out{};            // for this end: lines, or what its partner sent
  Connection* partner = nullptr;
  bool over = false;       // it sends no more
  bool told_over = false;  // this end has been told that its partner sends no more
  bool closed = false, unwatched = false;
  uint32_t wanted = 0;  // of epoll
  Clock::time_point since{}, used{};
};

// Those that the room has; who has left it is not named in it.
struct Server::Room {
  std::map<std::string, Connection*> listeners;  // by name
  std::map<std::string, Connection*> announced;  // by ticket
  std::vector<Connection*> waiting;              // calls to who does not listen
  size_t connections = 0;
};

Server::Server(ServerLimits limits)
    : limits_(limits),
      poll_(epoll_create1(EPOLL_CLOEXEC)),
      bell_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      piece_(kPieceBytes),
      next_(kFirstConnection) {
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kBell}};
  if (!poll_ || !bell_ || epoll_ctl(poll_.get(), EPOLL_CTL_ADD, bell_.get(), &event) != 0)
    throw environment_error(fmt::format("[relay] no descriptor ({}); raise ulimit -n", std::strerror(errno)));
}

Server::~Server() = default;

void Server::listen(Descriptor listener) {
  LINAC_CHECK(kFirstListener + listeners_.size() < kFirstConnection);
  fcntl(listener.get(), F_SETFL, O_NONBLOCK);
  epoll_event event{.events = EPOLLIN, .data = {.u64 = kFirstListener + listeners_.size()}};
  if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, listener.get(), &event) != 0)
    throw environment_error(fmt::format("[relay] cannot listen ({})", std::strerror(errno)));
  listeners_.push_back(std::move(listener));
}

void Server::ring() {
  const uint64_t one = 1;
  [[maybe_unused]] const auto written = write(bell_.get(), &one, sizeof one);
}

void Server::allow(Access access) {
  {
    const std::lock_guard lock(mutex_);
    wanted_ = std::make_shared<const Access>(std::move(access));
  }
  ring();
}

void Server::stop() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
  }
  ring();
}

ServerFacts Server::facts() const {
  const std::lock_guard lock(mutex_);
  return facts_;
}

Server::Connection* Server::find(uint64_t id) {
  const auto found = all_.find(id);
  return found == all_.end() ? nullptr : found->second.get();
}

void Server::run() {
  std::vector<epoll_event> events(kEventsAtOnce);
  for (;;) {
    const int count = epoll_wait(poll_.get(), events.data(), kEventsAtOnce, static_cast<int>(kWatch.count()));
    if (count < 0 && errno != EINTR)
      throw environment_error(fmt::format("[relay] cannot wait for its connections ({})", std::strerror(errno)));
    for (int i = 0; i < count; ++i) {
      const uint64_t id = events[static_cast<size_t>(i)].data.u64;
      if (id == kBell) {
        if (is_told_to_end()) return;
      } else if (id < kFirstConnection) {
        accept_some(listeners_[id - kFirstListener].get());
      } else if (Connection* const one = find(id)) {
        on_event(*one, events[static_cast<size_t>(i)].events);
      }
    }
    closed_.clear();
    watch_time();
    closed_.clear();
  }
}

bool Server::is_told_to_end() {
  uint64_t rung = 0;
  [[maybe_unused]] const auto heard = read(bell_.get(), &rung, sizeof rung);
  std::shared_ptr<const Access> wanted;
  {
    const std::lock_guard lock(mutex_);
    if (ending_) return true;
    wanted = std::exchange(wanted_, nullptr);
  }
  if (!wanted) return false;
  access_ = std::move(wanted);
  std::vector<Connection*> all;
  for (const auto& [id, one] : all_) all.push_back(one.get());
  for (Connection* const one : all)
    if (!one->closed &&
        !(access_->takes_from(one->from) && (one->room.empty() || access_->takes(one->room, one->user))))
      turn_away(*one);
  return false;
}

void Server::turn_away(Connection& one) {
  {
    const std::lock_guard lock(mutex_);
    ++facts_.strangers;
  }
  if (one.state == State::kJoined) return close(one);  // what is said there is the other end's
  refuse(one, one.room.empty() ? "this relay takes nobody from your address"
              : one.user.empty()
                  ? "this relay is for those whom it lists, and this run shows no pass (--relay-key, LINAC_RELAY_PASS)"
                  : "this relay does not list the user whose pass this run shows");
}

void Server::accept_some(int listener) {
  if (Clock::now() < accept_again_) return;
  for (int i = 0; i < kAcceptAtOnce; ++i) {
    Address other;
    other.size = sizeof other.storage;
    Descriptor socket(
        accept4(listener, reinterpret_cast<sockaddr*>(&other.storage), &other.size, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket) {
      // Who waits to be accepted would end every wait at once.
      if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS) {
        accept_again_ = Clock::now() + kAcceptAgain;
        deaf_ = true;
        for (size_t k = 0; k < listeners_.size(); ++k) {
          epoll_event event{.events = 0, .data = {.u64 = kFirstListener + k}};
          epoll_ctl(poll_.get(), EPOLL_CTL_MOD, listeners_[k].get(), &event);
        }
      }
      return;
    }
    welcome(std::move(socket), host_of(other));
  }
}

void Server::welcome(Descriptor socket, std::string from) {
  if (all_.size() >= limits_.connections) return;
  if (unproved_ >= limits_.unproved) {
    const auto oldest = std::ranges::find_if(all_, [](const auto& one) { return one.second->state == State::kHello; });
    if (oldest != all_.end()) close(*oldest->second);
  }
  keep_alive(socket.get());
  fcntl(socket.get(), F_SETFL, fcntl(socket.get(), F_GETFL) | O_NONBLOCK);
  auto made = std::make_unique<Connection>();
  Connection& one = *made;
  one.id = next_++;
  one.socket = std::move(socket);
  one.from = std::move(from);
  one.nonce = random_hex(kNonceDigits);
  one.since = one.used = Clock::now();
  one.wanted = EPOLLIN;
  epoll_event event{.events = one.wanted, .data = {.u64 = one.id}};
  if (epoll_ctl(poll_.get(), EPOLL_CTL_ADD, one.socket.get(), &event) != 0) return;
  all_.emplace(one.id, std::move(made));
  ++unproved_;
  {
    const std::lock_guard lock(mutex_);
    ++facts_.accepted;
  }
  if (!access_->takes_from(one.from)) return turn_away(one);
  say(one, greeting(one.nonce));
}

void Server::on_event(Connection& one, uint32_t events) {
  if (one.state == State::kHello) {
    if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) hear(one);
    if (!one.closed) flush(one);
    return;
  }
  if (one.state == State::kJoined) {
    Connection& partner = *one.partner;
    if ((events & EPOLLERR) != 0) return close(one);
    if ((events & EPOLLOUT) != 0) {
      flush(one);
      // What its partner could not hand over meanwhile.
      if (!one.closed && one.out.empty()) pump(partner, one);
    }
    if (!one.closed && (events & (EPOLLIN | EPOLLHUP)) != 0) pump(one, partner);
    return;
  }
  // A listener has nothing to say, and who waits for an answer neither; both may go.
  if ((events & (EPOLLIN | EPOLLHUP | EPOLLERR)) != 0) return close(one);
  flush(one);
}

// The hello, and nothing behind it: what the two ends say to each other comes after the answer.
void Server::hear(Connection& one) {
  char bytes[kLineBytesMax + 1];
  const ssize_t size = recv(one.socket.get(), bytes, sizeof bytes - one.line.size(), MSG_DONTWAIT);
  if (size < 0 && (errno == EAGAIN || errno == EINTR)) return;
  if (size <= 0) return close(one);
  one.line.append(bytes, static_cast<size_t>(size));
  const size_t end = one.line.find('\n');
  if (end == std::string::npos) {
    if (one.line.size() > kLineBytesMax) refuse(one, "a longer line than any hello");
    return;
  }
  const auto hello = read_hello(one.line.substr(0, end), one.nonce);
  if (!hello) return refuse(one, "no hello, or not signed by who belongs to the room");
  if (end + 1 != one.line.size()) return refuse(one, "more than a hello");
  one.line.clear();
  place(one, *hello);
}

void Server::place(Connection& one, const Hello& hello) {
  Room& room = rooms_[hello.room];
  one.room = hello.room;
  --unproved_;
  ++room.connections;
  one.since = one.used = Clock::now();
  one.name = hello.name;
  one.user = hello.user;
  one.state = State::kCalling;
  if (!access_->takes(one.room, one.user)) return turn_away(one);
  if (room.connections > limits_.connections_of_room) return refuse(one, "too many connections of this room");
  if (hello.role == Role::kTake) {
    const auto call = room.announced.find(hello.name);
    if (call == room.announced.end()) return refuse(one, "nobody calls any more");
    return join(*call->second, one);
  }
  const auto listener = room.listeners.find(hello.name);
  if (hello.role == Role::kCall) {
    if (listener != room.listeners.end()) return announce(one, *listener->second);
    room.waiting.push_back(&one);
    return;
  }
  // Of two with one name the later is the living one: the other has lost its connection, and may not know it.
  if (listener != room.listeners.end()) close(*listener->second);
  one.state = State::kListening;
  room.listeners[hello.name] = &one;
  say(one, kOk);
  std::vector<Connection*> calls;
  std::erase_if(room.waiting, [&](Connection* call) {
    if (call->name != hello.name) return false;
    calls.push_back(call);
    return true;
  });
  for (const auto& [ticket, call] : room.announced)
    if (call->name == hello.name) calls.push_back(call);
  for (Connection* const call : calls)
    if (!one.closed && !call->closed) announce(*call, one);
}

void Server::announce(Connection& call, Connection& listener) {
  if (call.ticket.empty()) call.ticket = random_hex(kTicketDigits);
  call.state = State::kAnnounced;
  call.since = Clock::now();
  rooms_[call.room].announced[call.ticket] = &call;
  say(listener, fmt::format("{}{}", kCallWord, call.ticket));
}

void Server::join(Connection& call, Connection& taker) {
  rooms_[call.room].announced.erase(call.ticket);
  call.partner = &taker;
  taker.partner = &call;
  call.state = taker.state = State::kJoined;
  {
    const std::lock_guard lock(mutex_);
    ++facts_.joined;
  }
  say(call, kOk);
  if (!call.closed) say(taker, kOk);
}

void Server::say(Connection& one, std::string_view line) {
  if (one.out.size() > kUnreadMax) return close(one);
  one.out.append(line).append(1, '\n');
  flush(one);
}

void Server::refuse(Connection& one, std::string_view why) {
  {
    const std::lock_guard lock(mutex_);
    ++facts_.refused;
  }
  const std::string line = fmt::format("{}{}\n", kNo, why);
  [[maybe_unused]] const auto sent = ::send(one.socket.get(), line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  // What it has sent is read away, or the answer would be lost with a reset.
  char rest[4096];
  while (recv(one.socket.get(), rest, sizeof rest, MSG_DONTWAIT) == static_cast<ssize_t>(sizeof rest)) {
  }
  close(one);
}

void Server::flush(Connection& one) {
  size_t sent = 0;
  while (sent < one.out.size()) {
    const ssize_t size =
        ::send(one.socket.get(), one.out.data() + sent, one.out.size() - sent, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != EAGAIN) return close(one);
    if (size < 0) break;
    sent += static_cast<size_t>(size);
  }
  one.out.erase(0, sent);
  if (sent > 0) one.used = Clock::now();
  if (one.out.empty() && one.out.capacity() > kLineBytesMax) one.out = {};
  if (one.out.empty() && one.partner != nullptr && one.partner->over && !one.told_over) {
    one.told_over = true;
    shutdown(one.socket.get(), SHUT_WR);
  }
  if (one.partner != nullptr && one.over && one.told_over && one.partner->told_over) return close(one);
  want(one);
  if (one.partner != nullptr) want(*one.partner);
}

// What `from` sends goes to `to`, while that one takes it.
void Server::pump(Connection& from, Connection& to) {
  uint64_t bytes = 0;
  for (int i = 0; i < kPiecesAtOnce && to.out.empty() && !from.over; ++i) {
    const ssize_t size = recv(from.socket.get(), piece_.data(), piece_.size(), MSG_DONTWAIT);
    if (size < 0 && errno == EINTR) continue;
    if (size < 0 && errno != EAGAIN) return close(from);
    if (size < 0) break;
    if (size == 0) {
      from.over = true;
      from.since = Clock::now();
      break;
    }
    bytes += static_cast<uint64_t>(size);
    const ssize_t sent = ::send(to.socket.get(), piece_.data(), static_cast<size_t>(size), MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0 && errno != EAGAIN && errno != EINTR) return close(to);
    if (sent < size) to.out.assign(piece_.data() + std::max<ssize_t>(sent, 0), piece_.data() + size);
  }
  if (bytes > 0) {
    from.used = to.used = Clock::now();
    const std::lock_guard lock(mutex_);
    facts_.bytes += bytes;
  }
  flush(to);
}

// Both ends of a pair.
void Server::close(Connection& one) {
  if (one.closed) return;
  one.closed = true;
  if (one.room.empty()) {
    --unproved_;
  } else {
    Room& room = rooms_[one.room];
    --room.connections;
    if (const auto own = room.listeners.find(one.name); own != room.listeners.end() && own->second == &one)
      room.listeners.erase(own);
    std::erase(room.waiting, &one);
    if (!one.ticket.empty()) room.announced.erase(one.ticket);
    if (room.connections == 0) rooms_.erase(one.room);
  }
  one.socket.reset();
  const auto found = all_.find(one.id);
  closed_.push_back(std::move(found->second));
  all_.erase(found);
  if (one.partner != nullptr) close(*std::exchange(one.partner, nullptr));
}

void Server::want(Connection& one) {
  if (one.closed || one.unwatched) return;
  // Both ways are closed: it would be told again and again while its partner takes what is left.
  if (one.over && one.told_over) {
    one.unwatched = true;
    epoll_ctl(poll_.get(), EPOLL_CTL_DEL, one.socket.get(), nullptr);
    return;
  }
  uint32_t wanted = 0;
  if (!one.out.empty()) wanted |= EPOLLOUT;
  // Of an end that is over, or whose partner has enough, nothing is to be heard.
  const bool hears = one.state != State::kJoined || (!one.over && one.partner->out.empty());
  if (hears) wanted |= EPOLLIN;
  if (wanted == one.wanted) return;
  one.wanted = wanted;
  epoll_event event{.events = wanted, .data = {.u64 = one.id}};
  epoll_ctl(poll_.get(), EPOLL_CTL_MOD, one.socket.get(), &event);
}

void Server::watch_time() {
  const auto now = Clock::now();
  if (now - watched_ < kWatch) return;
  watched_ = now;
  if (deaf_ && now >= accept_again_) {
    deaf_ = false;
    for (size_t k = 0; k < listeners_.size(); ++k) {
      epoll_event event{.events = EPOLLIN, .data = {.u64 = kFirstListener + k}};
      epoll_ctl(poll_.get(), EPOLL_CTL_MOD, listeners_[k].get(), &event);
    }
  }
  sweep();
}

void Server::sweep() {
  const auto now = Clock::now();
  std::vector<Connection*> all;
  for (const auto& [id, one] : all_) all.push_back(one.get());
  size_t held = 0;
  for (Connection* const one : all) {
    if (one->closed) continue;
    held += one->out.size();
    const auto waited = now - one->since;
    switch (one->state) {
      case State::kHello:
        if (waited > limits_.hello) close(*one);
        break;
      case State::kListening:
        if (now - one->used > kStill) say(*one, kStillWord);
        break;
      case State::kCalling:
        if (waited > limits_.absent) refuse(*one, "nobody listens there");
        break;
      case State::kAnnounced:
        if (waited > limits_.take) refuse(*one, "nobody takes the call");
        break;
      case State::kJoined:
        if (now - one->used > limits_.idle || (one->over && now - std::max(one->since, one->used) > limits_.half_open))
          close(*one);
        break;
    }
  }
  const std::lock_guard lock(mutex_);
  facts_.connections = all_.size();
  facts_.rooms = rooms_.size();
  facts_.bytes_held = held;
}

}  // namespace linac::relay
