#include "linac/train/comm/transport/tcp_channel.h"

#include <poll.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <vector>

#include "linac/base/base/cores.h"

namespace linac::comm {
namespace {

using std::chrono::milliseconds;

// A member that hangs or is silent is excluded after the stall timeout at the latest, and the view is left; this bounds
// what the membership cannot see, a connection that is dead while its ends live.
constexpr int kPatienceInStallTimeouts = 4;

// Threads for what an exchange encrypts and decrypts: one does 256 KiB in some 200 us, and wakes up in some
// tens of microseconds.
constexpr size_t kBytesAThread = 1 << 18, kMaxThreads = 8;

size_t threads_for(size_t bytes, size_t messages) {
  static const auto cores = static_cast<size_t>(usable_cores());
  return std::clamp<size_t>(bytes / kBytesAThread, 1, std::min({kMaxThreads, cores, messages}));
}

// What a record of TLS holds.
constexpr size_t kRecord = 16384;

// A message on its way out, with its head before it.
struct Sending {
  Sending(SecureLink& to, int rank, std::span<const std::byte> data, int tag)
      : link(&to), peer(rank), first(std::min(sizeof(TcpHead) + data.size(), kRecord)), body(data) {
    const TcpHead head{data.size(), tag};
    std::memcpy(first.data(), &head, sizeof head);
    std::copy_n(data.begin(), first.size() - sizeof head, first.begin() + sizeof head);
  }

  // True once all has left.
  bool advance() {
    while (sent < sizeof(TcpHead) + body.size()) {
      const size_t now =
          link->send(sent < first.size() ? std::span(first).subspan(sent) : body.subspan(sent - sizeof(TcpHead)));
      if (now == 0) return false;
      sent += now;
    }
    return true;
  }

  SecureLink* link;
  int peer;
  std::vector<std::byte> first;  // the head and what of the body goes along
  std::span<const std::byte> body;
  size_t sent = 0;
  bool done = false;
  size_t place = 0;  // among those that wait
};

// A message on its way in. What has come of its head stays with the link.
struct Receiving {
  Receiving(TcpChannel::InLink& from, int rank, std::span<std::byte> data, int tag)
      : in(&from), peer(rank), due{data.size(), tag}, body(data) {}

  // True once all has come.
  bool advance() {
    if (!in->advance()) return false;
    if (begun == std::chrono::steady_clock::time_point()) begun = std::chrono::steady_clock::now();
    if (in->head.bytes != due.bytes || in->head.tag != due.tag) throw std::runtime_error(kNotDue);
    while (received < body.size()) {
      const size_t now = in->link.receive(body.subspan(received));
      if (now == 0) return false;
      received += now;
    }
    return true;
  }
  void finish() const { in->of_head = 0; }

  TcpChannel::InLink* in;
  int peer;
  TcpHead due;
  std::span<std::byte> body;
  std::chrono::steady_clock::time_point begun{};  // when its head was there
  size_t received = 0;
  bool done = false;
  size_t place = 0;  // among those that wait
};

}  // namespace

struct TcpChannel::Load {
  std::vector<Sending*> out{};
  std::vector<Receiving*> in{};
  size_t bytes = 0;
  int peer = -1;          // that was tried last
  std::string failure{};  // empty: none

  // Until all has left and come, or something fails, or `broken` has come: another load has failed, which says why.
  void move(milliseconds patience, const ViewEnd& end, ViewEnd& broken) {
    try {
      // At first each is tried; then those whose sockets are ready.
      std::vector<pollfd> polled, next;
      const auto advance = [&](auto& one, int socket, short wanted) {
        if (one.done) return;
        peer = one.peer;
        if (polled.empty() || polled[one.place].revents != 0) one.done = one.advance();
        if (one.done) return;
        one.place = next.size();
        next.push_back({socket, wanted, 0});
      };
      for (;;) {
        next.clear();
        for (Sending* const one : out) advance(*one, one->link->descriptor(), POLLOUT);
        for (Receiving* const one : in) advance(*one, one->in->link.descriptor(), POLLIN);
        if (next.empty() || broken.has_come()) return;
        next.push_back({broken.descriptor(), POLLIN, 0});
        polled.swap(next);
        MembershipNode::wait_for_data(polled, patience, end);
      }
    } catch (const std::exception& error) {
      failure = error.what();
      broken.come();
    }
  }
};

// Reads what is there of the next message's head. True once it is whole.
bool TcpChannel::InLink::advance() {
  while (of_head < sizeof head) {
    const size_t now = link.receive(std::as_writable_bytes(std::span(&head, 1)).subspan(of_head));
    if (now == 0) return false;
    of_head += now;
  }
  return true;
}

TcpChannel::TcpChannel(std::shared_ptr<MembershipNode> node, std::chrono::milliseconds stall_timeout)
    : Group(View{}), node_(std::move(node)), patience_(kPatienceInStallTimeouts * stall_timeout) {}

TcpChannel::TcpChannel(Part part, const TcpChannel& of)
    : Group(std::move(part)), node_(of.node_), end_(of.end_), patience_(of.patience_) {}

TcpChannel::~TcpChannel() {
  TcpChannel::close();
}

void TcpChannel::close() noexcept {
  to_.clear();
  from_.clear();
}

size_t TcpChannel::descriptors() const {
  const auto open = [](const auto& links, const auto& link) {
    return static_cast<size_t>(std::count_if(links.begin(), links.end(), link));
  };
  return open(to_, [](const auto& to) { return static_cast<bool>(to.second); }) +
         open(from_, [](const auto& from) { return static_cast<bool>(from.second.link); });
}

std::unique_ptr<Group> TcpChannel::open_part(Part part) {
  return std::unique_ptr<Group>(new TcpChannel(std::move(part), *this));
}

void TcpChannel::enter(const MembershipNode::Place& place) {
  take_place(place.view, place.rank);
  end_ = place.end;
}

void TcpChannel::waiting_for(int peer, const char* operation) {
  node_->mark(operation, peer, true);
}

// What has arrived of a part may be of no use to anybody any more; the whole group learns that from its commits.
void TcpChannel::need_view() const {
  if (channel_number() != 0 && end_->has_come()) throw std::runtime_error("the view is being left");
}

// A link failed though the view goes on: the members do not reach each other.
void TcpChannel::complain_of(int peer) {
  if (!end_->has_come()) node_->complain_of(view().members.at(static_cast<size_t>(peer)));
}

void TcpChannel::link_to(std::span<const Outward> sends) {
  std::vector<int> missing;
  for (const Outward& message : sends) {
    if (!to_[message.to]) missing.push_back(message.to);
  }
  if (missing.empty()) return;
  try {
    std::vector<SecureLink> links = node_->connect_data(view(), missing, channel_number(), *end_);
    for (size_t i = 0; i < missing.size(); ++i) to_[missing[i]] = std::move(links[i]);
  } catch (const LinkFailed& failed) {
    complain_of(failed.rank);
    throw PeerFailed(failed.rank, failed.what());
  }
}

TcpChannel::InLink& TcpChannel::link_from(int peer) {
  InLink& in = from_[peer];
  try {
    if (!in.link) in.link = node_->accept_data(view(), peer, channel_number(), patience_, *end_);
  } catch (const std::exception&) {
    complain_of(peer);
    throw;
  }
  return in;
}

void TcpChannel::exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) {
  std::vector<Sending> out;
  std::vector<Receiving> in;
  int peer = sends.empty() ? receives.front().from : sends.front().to;
  try {
    need_view();
    link_to(sends);
    for (const Outward& message : sends) out.emplace_back(to_[message.to], message.to, message.data, tag);
    for (const Inward& message : receives) {
      peer = message.from;
      in.emplace_back(link_from(peer), peer, message.data, tag);
    }
    size_t bytes = 0;
    for (const Outward& message : sends) bytes += message.data.size();
    for (const Inward& message : receives) bytes += message.data.size();
    std::vector<Load> loads(threads_for(bytes, out.size() + in.size()));
    const auto least = [&](size_t more) -> Load& {
      Load& load =
          *std::min_element(loads.begin(), loads.end(), [](const Load& a, const Load& b) { return a.bytes < b.bytes; });
      load.bytes += more;
      return load;
    };
    for (Sending& one : out) least(one.body.size()).out.push_back(&one);
    for (Receiving& one : in) least(one.body.size()).in.push_back(&one);
    move(loads);
    for (const Receiving& one : in) {
      one.finish();
      heard(one.begun);
    }
  } catch (const PeerFailed&) {
    throw;
  } catch (const std::exception& error) {
    throw PeerFailed(peer, error.what());
  }
}

void TcpChannel::move(std::vector<Load>& loads) {
  ViewEnd broken;
  if (loads.size() == 1) {
    loads[0].move(patience_, *end_, broken);
  } else {
    if (!pool_) pool_ = std::make_unique<ThreadPool>(static_cast<int>(threads_for(SIZE_MAX, SIZE_MAX)));
    pool_->run(static_cast<int>(loads.size()),
               [&](int number) { loads[static_cast<size_t>(number)].move(patience_, *end_, broken); });
  }
  for (const Load& load : loads) {
    if (!load.failure.empty()) throw PeerFailed(load.peer, load.failure);
  }
}

}  // namespace linac::comm
