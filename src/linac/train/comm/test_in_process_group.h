#pragma once
// A group whose ranks are threads of one process: the transport for tests of everything above it. The returned groups
// share mailboxes and may be used by one thread each. Destroying one (or a failure in it) ends it for the others.

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "linac/train/comm/group.h"

namespace linac::comm {
namespace in_process {

// A sender waits when the receiver is this many messages behind, as it would on a network.
inline constexpr size_t kMaxQueuedMessages = 4;

inline constexpr uint64_t kWholeGroup = 0;  // its channel

// Ranks are those of the whole group.
struct Hub {
  using Address = std::tuple<uint64_t, int, int>;  // channel, from, to
  struct Message {
    int tag;
    std::vector<std::byte> bytes;
  };
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Address, std::deque<Message>> mailboxes;  // in the order in which they were sent, as on a network
  std::set<std::pair<uint64_t, int>> ended;          // by channel; who has left the whole group has left all

  bool has_ended(uint64_t channel, int rank) const {
    return ended.contains({kWholeGroup, rank}) || ended.contains({channel, rank});
  }
};

class InProcessGroup : public Group {
 public:
  InProcessGroup(std::shared_ptr<Hub> hub, int rank, int size, std::chrono::milliseconds timeout,
                 const std::vector<int>& shares)
      : Group(rank, size), hub_(std::move(hub)), timeout_(timeout) {
    View dealt = view();
    for (size_t i = 0; i < shares.size(); ++i) dealt.members.at(i).share = shares[i];
    take_place(dealt, rank);
  }
  ~InProcessGroup() override { leave(); }

 private:
  using Mailbox = std::deque<Hub::Message>;

  InProcessGroup(std::shared_ptr<Hub> hub, Part part, std::chrono::milliseconds timeout)
      : Group(std::move(part)), hub_(std::move(hub)), timeout_(timeout) {}

  std::unique_ptr<Group> open_part(Part part) override {
    return std::unique_ptr<Group>(new InProcessGroup(hub_, std::move(part), timeout_));
  }

  // Mailboxes take what is sent, so one after the other will do.
  void exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) override {
    for (const Outward& message : sends) send_bytes(message.data, message.to, tag);
    for (const Inward& message : receives) receive_bytes(message.data, message.from, tag);
  }

  Mailbox& mailbox(int from, int to) { return hub_->mailboxes[{channel_number(), origin(from), origin(to)}]; }
  bool has_ended(int rank) const { return hub_->has_ended(channel_number(), origin(rank)); }

  // Until `there`, or `peer` has ended, or this rank itself in another thread.
  template <class There>
  void wait_for(std::unique_lock<std::mutex>& lock, int peer, const There& there) {
    const bool awake =
        hub_->changed.wait_for(lock, timeout_, [&] { return has_ended(peer) || has_ended(rank()) || there(); });
    if (!awake) throw PeerFailed(peer, "timed out");
    if (has_ended(rank())) throw PeerFailed(peer, "this rank has left the group");
  }

  void send_bytes(std::span<const std::byte> data, int to, int tag) {
    std::unique_lock lock(hub_->mutex);
    Mailbox& box = mailbox(rank(), to);
    wait_for(lock, to, [&] { return box.size() < kMaxQueuedMessages; });
    if (has_ended(to)) throw PeerFailed(to, "connection closed by peer");
    box.push_back({tag, {data.begin(), data.end()}});
    hub_->changed.notify_all();
  }

  void receive_bytes(std::span<std::byte> data, int from, int tag) {
    std::unique_lock lock(hub_->mutex);
    Mailbox& box = mailbox(from, rank());
    wait_for(lock, from, [&] { return !box.empty(); });
    if (box.empty()) throw PeerFailed(from, "connection closed by peer");
    heard(std::chrono::steady_clock::now());
    if (box.front().tag != tag || box.front().bytes.size() != data.size()) throw PeerFailed(from, kNotDue);
    take(box, data);
  }

  void take(Mailbox& box, std::span<std::byte> data) {
    std::copy(box.front().bytes.begin(), box.front().bytes.end(), data.begin());
    box.pop_front();
    hub_->changed.notify_all();
  }

  void close() noexcept override { leave(); }

  void leave() noexcept {
    const std::lock_guard lock(hub_->mutex);
    hub_->ended.insert({channel_number(), origin(rank())});
    hub_->changed.notify_all();
  }

  std::shared_ptr<Hub> hub_;
  std::chrono::milliseconds timeout_;
};

}  // namespace in_process

/// Groups of rank 0..size-1. `timeout` bounds every wait. `shares`: the replicas that each rank carries; empty: evenly.
inline std::vector<std::unique_ptr<Group>> make_in_process_groups(int size, std::chrono::milliseconds timeout,
                                                                  const std::vector<int>& shares = {}) {
  const auto hub = std::make_shared<in_process::Hub>();
  std::vector<std::unique_ptr<Group>> groups;
  for (int rank = 0; rank < size; ++rank) {
    groups.push_back(std::make_unique<in_process::InProcessGroup>(hub, rank, size, timeout, shares));
  }
  return groups;
}

}  // namespace linac::comm
