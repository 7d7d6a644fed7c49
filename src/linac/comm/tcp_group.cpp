#include "linac/comm/tcp_group.h"

#include <poll.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "linac/base/log.h"

namespace linac::comm {
namespace {

// A member that hangs or is silent is excluded after the stall timeout at the latest, and the view is left; this bounds
// what the membership cannot see, a connection that is dead while its ends live.
constexpr int kPatienceInStallTimeouts = 4;

// Before each message: how long it is, and what it is for.
struct Head {
  uint64_t bytes;
  int64_t tag;
};

bool would_block(ssize_t moved) {
  if (moved >= 0) return false;
  if (errno == EAGAIN || errno == EINTR) return true;
  throw std::runtime_error(std::strerror(errno));
}

// A message on its way out, with its head before it.
struct Sending {
  Sending(const Descriptor& to, int rank, std::span<const std::byte> data, int tag)
      : socket(to.get()), peer(rank), head{data.size(), tag}, body(data) {}

  // True once all has left.
  bool advance() {
    while (sent < sizeof head + body.size()) {
      const size_t of_head = std::min(sent, sizeof head), of_body = sent - of_head;
      iovec parts[] = {{reinterpret_cast<char*>(&head) + of_head, sizeof head - of_head},
                       {const_cast<std::byte*>(body.data()) + of_body, body.size() - of_body}};
      msghdr message{};
      message.msg_iov = parts;
      message.msg_iovlen = 2;
      const ssize_t now = sendmsg(socket, &message, MSG_NOSIGNAL);
      if (would_block(now)) return false;
      sent += static_cast<size_t>(now);
    }
    return true;
  }

  int socket, peer;
  Head head;
  std::span<const std::byte> body;
  size_t sent = 0;
};

// A message on its way in.
struct Receiving {
  Receiving(const Descriptor& from, int rank, std::span<std::byte> data, int tag)
      : socket(from.get()), peer(rank), due{data.size(), tag}, body(data) {}

  // True once all has come.
  bool advance() {
    while (received < sizeof head + body.size()) {
      const bool in_head = received < sizeof head;
      const size_t at = in_head ? received : received - sizeof head;
      void* const to = in_head ? reinterpret_cast<char*>(&head) + at : reinterpret_cast<char*>(body.data()) + at;
      const ssize_t now = recv(socket, to, (in_head ? sizeof head : body.size()) - at, 0);
      if (now == 0) throw std::runtime_error("connection closed by peer");
      if (would_block(now)) return false;
      received += static_cast<size_t>(now);
      if (received == sizeof head && (head.bytes != due.bytes || head.tag != due.tag))
        throw std::runtime_error("the message is not the one that is due; do all workers run the same program?");
    }
    return true;
  }

  int socket, peer;
  Head due, head{};
  std::span<std::byte> body;
  size_t received = 0;
};

}  // namespace

TcpGroup::TcpGroup(std::unique_ptr<MembershipNode> node, std::chrono::milliseconds stall_timeout,
                   std::function<void(MembershipNode&)> join)
    : Group(View{}),
      node_(std::move(node)),
      join_(std::move(join)),
      patience_(kPatienceInStallTimeouts * stall_timeout) {
  if (join_) return;
  const auto place = node_->await_view(0);
  take_place(place->view, place->rank);
}

TcpGroup::~TcpGroup() {
  TcpGroup::close();
}

void TcpGroup::fail_with(const Error& error, Reach reach) noexcept {
  try {
    node_->fail_with(error, reach);
  } catch (const std::exception& other) {
    log::warn(other.what());
  }
}

void TcpGroup::finish() noexcept {
  node_->finish();
}

void TcpGroup::close() noexcept {
  to_.clear();
  from_.clear();
}

bool TcpGroup::reopen(const std::string& why) {
  node_->mark("waiting for the next view", -1, true);
  if (join_) {
    std::exchange(join_, {})(*node_);
  } else {
    node_->leave_view(why);
  }
  const auto place = node_->await_view(view().number);
  if (!place) return false;
  take_place(place->view, place->rank);
  node_->mark("entering a view", -1, false);
  return true;
}

void TcpGroup::waiting_for(int peer, const char* operation) {
  node_->mark(operation, peer, true);
}

void TcpGroup::exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) {
  std::vector<Sending> out;
  std::vector<Receiving> in;
  int peer = -1;
  try {
    for (const Outward& message : sends) {
      Descriptor& socket = to_[peer = message.to];
      if (!socket) socket = node_->connect_data(view(), peer);
      out.emplace_back(socket, peer, message.data, tag);
    }
    for (const Inward& message : receives) {
      Descriptor& socket = from_[peer = message.from];
      if (!socket) socket = node_->accept_data(view(), peer, patience_);
      in.emplace_back(socket, peer, message.data, tag);
    }
    std::vector<pollfd> open;
    for (;;) {
      open.clear();
      for (Sending& one : out) {
        peer = one.peer;
        if (!one.advance()) open.push_back({one.socket, POLLOUT, 0});
      }
      for (Receiving& one : in) {
        peer = one.peer;
        if (!one.advance()) open.push_back({one.socket, POLLIN, 0});
      }
      if (open.empty()) return;
      node_->wait_for_data(open, patience_);
    }
  } catch (const std::exception& error) {
    throw PeerFailed(peer, error.what());
  }
}

}  // namespace linac::comm
