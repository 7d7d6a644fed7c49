#include "linac/io/relay/relays.h"

#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"

namespace linac::relay {
namespace {

constexpr size_t kRelaysMax = 8;

}  // namespace

void keep_alive(int socket) {
  const int on = 1, idle_s = 30, interval_s = 10, count = 3;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  setsockopt(socket, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPINTVL, &interval_s, sizeof interval_s);
  setsockopt(socket, IPPROTO_TCP, TCP_KEEPCNT, &count, sizeof count);
}

Approach::Approach(std::shared_ptr<const Identity> identity, std::string pass, Role role, std::string name,
                   std::function<void()> on_failure)
    : identity_(std::move(identity)),
      role_(role),
      pass_(std::move(pass)),
      name_(std::move(name)),
      on_failure_(std::move(on_failure)) {}

Approach::~Approach() {
  if (on_failure_ && step_ != Step::kDone) on_failure_();
}

Approach::Approach(Approach&& other) noexcept : role_(other.role_), step_(Step::kDone) {
  *this = std::move(other);
}

Approach& Approach::operator=(Approach&& other) noexcept {
  identity_.swap(other.identity_);
  std::swap(role_, other.role_);
  pass_.swap(other.pass_);
  name_.swap(other.name_);
  out_.swap(other.out_);
  line_.swap(other.line_);
  std::swap(step_, other.step_);
  on_failure_.swap(other.on_failure_);
  return *this;
}

short Approach::awaits() const {
  return step_ == Step::kHello ? POLLOUT : POLLIN;
}

// One byte at a time: what follows the last line is the other end's.
bool Approach::read_line(int socket) {
  for (;;) {
    char next = 0;
    const ssize_t size = recv(socket, &next, 1, MSG_DONTWAIT);
    if (size < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return false;
    if (size < 0) throw std::runtime_error(std::strerror(errno));
    if (size == 0) throw std::runtime_error("the relay has closed the connection");
    if (next == '\n') return true;
    if (line_.size() >= kLineBytesMax) throw std::runtime_error("what answers there is no relay");
    line_ += next;
  }
}

bool Approach::advance(int socket) {
  while (step_ != Step::kDone) {
    if (step_ == Step::kHello) {
      const ssize_t size = ::send(socket, out_.data(), out_.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
      if (size < 0 && (errno == EAGAIN || errno == EINTR || errno == ENOTCONN)) return false;
      if (size < 0) throw std::runtime_error(std::strerror(errno));
      out_.erase(0, static_cast<size_t>(size));
      if (out_.empty()) step_ = Step::kAnswer;
      continue;
    }
    if (!read_line(socket)) return false;
    const std::string line = std::exchange(line_, {});
    if (step_ == Step::kGreeted) {
      const auto nonce = nonce_in(line);
      if (line.starts_with(kNo)) throw std::runtime_error(printable(line.substr(kNo.size())));
      if (!nonce) throw std::runtime_error("what answers there is no relay");
      out_ = hello_line(*identity_, role_, name_, *nonce, pass_) + "\n";
      step_ = Step::kHello;
    } else {
      if (line != kOk)
        throw std::runtime_error(line.starts_with(kNo) ? printable(line.substr(kNo.size()))
                                                       : "what answers there is no relay");
      step_ = Step::kDone;
    }
  }
  return true;
}

Relays::Relays(std::string_view text, const std::string& source, const Identity::Seed& seed, std::string pass)
    : identity_(std::make_shared<const Identity>(seed)), pass_(std::move(pass)) {
  for (size_t at = 0; at <= text.size();) {
    const size_t end = std::min(text.find(',', at), text.size());
    const std::string one(text.substr(at, end - at));
    at = end + 1;
    Place place{one, look_up(one, source)};
    relays_.push_back(std::move(place));
    if (relays_.size() > kRelaysMax)
      throw user_error(fmt::format("[relay] {}: more than {} relays; leave some out", source, kRelaysMax));
  }
}

std::pair<std::string, int> Relays::host_and_port(size_t relay) const {
  return {relays_.at(relay).address.host, relays_.at(relay).address.port};
}

Relays::Begun Relays::begin(size_t relay, Role role, const std::string& name) const {
  const Place& place = relays_.at(relay);
  Descriptor socket(::socket(place.address.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw environment_error(fmt::format("[relay] no socket ({})", std::strerror(errno)));
  keep_alive(socket.get());
  const int status = connect(socket.get(), place.address.get(), place.address.size);
  if (status != 0 && errno != EINPROGRESS) socket.reset();
  return {std::move(socket), Approach(identity_, pass_, role, name, {})};
}

Relays::Begun Relays::call(const std::string& name) const {
  const size_t relay = *preferred_;
  Begun begun = begin(relay, Role::kCall, name);
  begun.approach = Approach(identity_, pass_, Role::kCall, name,
                            [preferred = preferred_, relay, next = (relay + 1) % relays_.size()] {
                              size_t expected = relay;
                              preferred->compare_exchange_strong(expected, next);
                            });
  return begun;
}

}  // namespace linac::relay
