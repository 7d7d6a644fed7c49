#include "linac/train/comm/transport/control_links.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/resource.h>
#include <sys/socket.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "linac/base/base/error.h"
#include "linac/train/comm/meeting/sockets.h"

namespace linac::comm {
namespace {

using std::chrono::milliseconds;

// What does not greet is closed. A member whose hundreds of links are made at once on a busy host takes seconds, and
// believes in its link before this end does; strangers gain nothing, as the oldest of kMaxUnproved gives way.
constexpr milliseconds kHelloTime{30'000};
constexpr milliseconds kConnectTime{3000}, kTryAgain{10}, kTryRelayAgain{250}, kAcceptAgain{100}, kLookForUnused{500};
constexpr size_t kMaxIncoming = 8192;
// Links whose other end has yet to prove itself. The oldest gives way: a member needs some milliseconds.
constexpr rlim_t kMaxUnproved = 256;
constexpr int kAcceptAtOnce = 64;

// Descriptors are needed for other things too.
size_t max_unproved() {
  rlimit all{};
  const bool known = getrlimit(RLIMIT_NOFILE, &all) == 0;
  return known ? std::clamp<rlim_t>(all.rlim_cur / 4, 1, kMaxUnproved) : kMaxUnproved;
}

std::optional<Hello> decode_hello(std::string_view bytes) {
  const auto json = nlohmann::json::parse(bytes, nullptr, false);
  try {
    return Hello{json.at("to"), json.at("from"), json.at("view"), json.value("channel", uint64_t{0})};
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

std::string frame(std::string_view bytes) {
  std::string result;
  for (size_t i = 0; i < kFrameHeader; ++i) result += static_cast<char>(bytes.size() >> (8 * i));
  return result.append(bytes);
}

uint32_t frame_length(std::string_view bytes) {
  uint32_t length = 0;
  for (size_t i = 0; i < kFrameHeader; ++i) length |= uint32_t{static_cast<unsigned char>(bytes[i])} << (8 * i);
  return length;
}

std::string encode(const Hello& hello) {
  nlohmann::json json{{"to", hello.to}, {"from", hello.from}, {"view", hello.view}};
  if (hello.channel != 0) json["channel"] = hello.channel;
  return frame(json.dump());
}

Descriptor begin_connecting(const std::string& address, bool& refused) {
  const SocketAddress to = socket_address(address);
  Descriptor socket(::socket(to.storage.ss_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (!socket) throw environment_error(fmt::format("[comm] no socket ({})", std::strerror(errno)));
  const int on = 1;
  setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  const int status = connect(socket.get(), to.get(), to.size);
  refused = status != 0 && errno == ECONNREFUSED;
  return socket;
}

int connection_error(int socket) {
  int error = 0;
  socklen_t size = sizeof error;
  return getsockopt(socket, SOL_SOCKET, SO_ERROR, &error, &size) == 0 ? error : errno;
}

ControlLinks::ControlLinks(const std::string& host, const std::string& advertise, const PortRange& ports,
                           std::shared_ptr<const LinkContext> context, std::shared_ptr<const Ways> ways)
    : context_(std::move(context)), ways_(std::move(ways)), listener_(listen_at(host, ports)) {
  fcntl(listener_.get(), F_SETFL, O_NONBLOCK);
  address_ = host_and_port(advertise.empty() ? host : advertise, port_of(listener_.get()));
  if (ways_) address_ = ways_->address_of(address_);
  if (ways_) by_relay_ = ways_->listen(address_);
}

void ControlLinks::open(const std::string& to, Outgoing& link, News* news) {
  bool refused = false;
  link.since = Clock::now();
  link.link = begin_link(to, context_, ways_.get(), refused);
  if (refused) (news != nullptr ? *news : early_).refused.push_back(to);
}

// A relay that was started again takes a moment.
ControlLinks::Clock::time_point ControlLinks::next_try(const std::string& to) const {
  return Clock::now() + (is_by_relay(ways_.get(), to) ? kTryRelayAgain : kTryAgain);
}

void ControlLinks::send(const std::string& to, std::string_view bytes, uint64_t from) {
  LINAC_CHECK(bytes.size() <= kMaxFrameBytes);
  const auto [found, fresh] = outgoing_.try_emplace(to);
  Outgoing& link = found->second;
  if (fresh) {
    link.from = from;
    link.queue = encode({to, from, 0});
    open(to, link, nullptr);
  }
  if (!link.link || link.queue.size() > kMaxQueuedBytes) {
    outgoing_.erase(found);
    return;
  }
  link.queue += frame(bytes);
  link.used = Clock::now();
}

ControlLinks::News ControlLinks::wait(int wake, milliseconds patience, const std::vector<std::string>& watched) {
  News news = std::exchange(early_, {});
  try_again(watched, news);
  if (!news.refused.empty()) return news;

  std::vector<pollfd> polled{{wake, POLLIN, 0}, {listener_.get(), POLLIN, 0}};
  // Who waits to be accepted would end every wait at once.
  if (Clock::now() < accept_again_) polled[1].fd = -1;
  polled.push_back({by_relay_ ? by_relay_->descriptor() : -1, POLLIN, 0});
  for (const Incoming& link : incoming_)
    polled.push_back({link.link.descriptor(), link.secured ? short{POLLIN} : link.link.awaits(), 0});
  for (const auto& [to, link] : outgoing_) {
    const int wanted = !link.connected       ? POLLOUT
                       : !link.secured       ? link.link.awaits()
                       : !link.queue.empty() ? POLLIN | POLLOUT
                                             : POLLIN;
    polled.push_back({link.link.descriptor(), static_cast<short>(wanted | POLLRDHUP), 0});
  }
  if (!broken_.empty()) patience = std::min(patience, kTryAgain);
  if (poll(polled.data(), polled.size(), static_cast<int>(patience.count())) < 0) return news;

  size_t next = 3;
  std::erase_if(incoming_, [&](Incoming& link) {
    // What has come is read first: it may be this process that is late.
    const bool readable = polled[next++].revents != 0;
    if (readable && !read(link, news)) return true;
    return !link.greeted && Clock::now() - link.since > kHelloTime;
  });
  for (auto entry = outgoing_.begin(); entry != outgoing_.end();) {
    auto& [to, link] = *entry;
    const short events = polled[next++].revents;
    const bool late = !link.connected && Clock::now() - link.since > kConnectTime;
    if (!late && (events == 0 || write(to, link, events, news))) {
      ++entry;
      continue;
    }
    const bool is_watched = std::find(watched.begin(), watched.end(), to) != watched.end();
    // Who does not have the key is not the process that was there.
    const bool stranger = link.connected && !link.secured && !is_by_relay(ways_.get(), to);
    if (is_watched && !late && !stranger) broken_[to] = {next_try(to), link.from};
    entry = outgoing_.erase(entry);
  }
  if (polled[1].revents != 0) accept_some();
  if (polled[2].revents != 0)
    for (Descriptor socket; (socket = by_relay_->take());) welcome(std::move(socket));
  close_unused(watched);
  return news;
}

// Between two views one member speaks to all, and hundreds of links would stay for ever.
void ControlLinks::close_unused(const std::vector<std::string>& watched) {
  const auto now = Clock::now();
  if (now - looked_for_unused_ < kLookForUnused) return;
  looked_for_unused_ = now;
  const std::set<std::string> kept(watched.begin(), watched.end());
  std::erase_if(outgoing_, [&](const auto& entry) {
    const auto& [to, link] = entry;
    return link.secured && link.queue.empty() && now - link.used > kUnusedTime && !kept.contains(to);
  });
}

// A connection that broke may mean that its other end's process has ended: whether somebody listens there still tells.
void ControlLinks::try_again(const std::vector<std::string>& watched, News& news) {
  for (auto entry = broken_.begin(); entry != broken_.end();) {
    const auto& [to, when] = *entry;
    if (Clock::now() < when.first) {
      ++entry;
      continue;
    }
    const bool is_watched = std::find(watched.begin(), watched.end(), to) != watched.end();
    if (is_watched && !outgoing_.contains(to)) {
      Outgoing& link = outgoing_[to];
      link.from = when.second;
      link.queue = encode({to, when.second, 0});
      link.used = Clock::now();
      open(to, link, &news);
      if (!link.link) outgoing_.erase(to);
    }
    entry = broken_.erase(entry);
  }
}

// False if the link is to be closed.
bool ControlLinks::write(const std::string& to, Outgoing& link, short events, News& news) {
  // A relay that is not there says nothing of who is behind it.
  if (!link.connected && is_by_relay(ways_.get(), to)) link.connected = true;
  if (!link.connected) {
    const int error = connection_error(link.link.descriptor());
    if (error == ECONNREFUSED) news.refused.push_back(to);
    if (error != 0) return false;
    if ((events & POLLOUT) != 0) link.connected = true;
  }
  if (link.secured || !is_by_relay(ways_.get(), to)) {
    if ((events & (POLLRDHUP | POLLHUP | POLLERR)) != 0) return false;
  }
  if (!link.connected) return true;
  try {
    link.secured = link.secured || link.link.established();
    if (!link.secured) return true;
    std::byte unasked{};
    if ((events & POLLIN) != 0 && link.link.receive({&unasked, 1}) > 0) return false;
    while (!link.queue.empty()) {
      const size_t size = link.link.send(std::as_bytes(std::span(link.queue)));
      if (size == 0) break;
      link.queue.erase(0, size);
    }
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool ControlLinks::read(Incoming& link, News& news) {
  try {
    if (!link.secured && link.link.established()) {
      link.secured = true;
      link.since = Clock::now();
    }
    // Of a link for data, nothing behind the hello may be taken.
    while (link.secured) {
      size_t wanted = 65536;
      if (!link.greeted) {
        wanted = kFrameHeader;
        if (link.bytes.size() >= kFrameHeader) {
          if (frame_length(link.bytes) > kMaxHelloBytes) return false;
          wanted += frame_length(link.bytes);
        }
        wanted -= link.bytes.size();
      }
      const size_t before = link.bytes.size();
      link.bytes.resize(before + wanted);
      const size_t size = link.link.receive(std::as_writable_bytes(std::span(link.bytes).subspan(before)));
      link.bytes.resize(before + size);
      if (size == 0) break;
      if (!take_frames(link, news)) return false;
    }
    return true;
  } catch (const std::runtime_error&) {
    return false;
  }
}

bool ControlLinks::take_frames(Incoming& link, News& news) {
  while (link.bytes.size() >= kFrameHeader) {
    const size_t length = frame_length(link.bytes);
    if (length > (link.greeted ? kMaxFrameBytes : kMaxHelloBytes)) return false;
    if (link.bytes.size() < kFrameHeader + length) return true;
    std::string content = link.bytes.substr(kFrameHeader, length);
    link.bytes.erase(0, kFrameHeader + length);
    if (link.greeted) {
      news.messages.push_back(std::move(content));
      continue;
    }
    const auto hello = decode_hello(content);
    if (!hello || hello->to != address_) return false;
    link.greeted = true;
    if (hello->view != 0) {
      news.data.push_back({*hello, std::move(link.link)});
      return false;
    }
  }
  return true;
}

// The rest waits for the next turn: whoever calls without end does not keep this thread from the others.
void ControlLinks::accept_some() {
  for (int i = 0; i < kAcceptAtOnce; ++i) {
    Descriptor socket(accept4(listener_.get(), nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
    if (!socket && (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS))
      accept_again_ = Clock::now() + kAcceptAgain;
    if (!socket) return;
    const int on = 1;
    setsockopt(socket.get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    welcome(std::move(socket));
  }
}

void ControlLinks::welcome(Descriptor socket) {
  if (incoming_.size() >= kMaxIncoming) return;
  make_room();
  incoming_.push_back(
      {SecureLink(std::move(socket), context_, SecureLink::End::kCalled), "", false, false, Clock::now()});
}

void ControlLinks::make_room() {
  const auto unproved = [](const Incoming& link) { return !link.secured; };
  if (static_cast<size_t>(std::count_if(incoming_.begin(), incoming_.end(), unproved)) < max_unproved()) return;
  incoming_.erase(std::find_if(incoming_.begin(), incoming_.end(), unproved));
}

}  // namespace linac::comm
