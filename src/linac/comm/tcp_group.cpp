#include "linac/comm/tcp_group.h"

#include <poll.h>
#include <sys/socket.h>

#include <cerrno>
#include <cstring>
#include <stdexcept>

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

void TcpGroup::send_bytes(std::span<const std::byte> data, int to, int tag) {
  Descriptor& socket = to_[to];
  if (!socket) socket = node_->connect_data(view(), to);
  const Head head{data.size(), tag};
  const auto all = [&](const void* bytes, size_t size) {
    for (size_t sent = 0; sent < size;) {
      const auto now = ::send(socket.get(), static_cast<const char*>(bytes) + sent, size - sent, MSG_NOSIGNAL);
      if (now < 0 && errno != EAGAIN && errno != EINTR) throw std::runtime_error(std::strerror(errno));
      if (now > 0) {
        sent += static_cast<size_t>(now);
      } else {
        node_->wait_for_data(socket, POLLOUT, patience_);
      }
    }
  };
  all(&head, sizeof head);
  all(data.data(), data.size());
}

void TcpGroup::receive_bytes(std::span<std::byte> data, int from, int tag) {
  Descriptor& socket = from_[from];
  if (!socket) socket = node_->accept_data(view(), from, patience_);
  const auto all = [&](void* bytes, size_t size) {
    for (size_t received = 0; received < size;) {
      const auto now = recv(socket.get(), static_cast<char*>(bytes) + received, size - received, 0);
      if (now == 0) throw std::runtime_error("connection closed by peer");
      if (now < 0 && errno != EAGAIN && errno != EINTR) throw std::runtime_error(std::strerror(errno));
      if (now > 0) {
        received += static_cast<size_t>(now);
      } else {
        node_->wait_for_data(socket, POLLIN, patience_);
      }
    }
  };
  Head head{};
  all(&head, sizeof head);
  if (head.bytes != data.size() || head.tag != tag)
    throw std::runtime_error("the message is not the one that is due; do all workers run the same program?");
  all(data.data(), data.size());
}

}  // namespace linac::comm
