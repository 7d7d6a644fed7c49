#include "linac/comm/in_process_group.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <tuple>

#include "linac/base/error.h"

namespace linac::comm {
namespace {

using Milliseconds = std::chrono::milliseconds;

// A sender waits when the receiver is this many messages behind, as it would on a network.
constexpr size_t kMaxQueuedMessages = 4;

struct Hub {
  using Address = std::tuple<int, int, int>;  // from, to, tag
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Address, std::deque<std::vector<std::byte>>> mailboxes;
  std::vector<bool> ended;
};

class InProcessGroup : public Group {
 public:
  InProcessGroup(std::shared_ptr<Hub> hub, int rank, int size, Milliseconds timeout)
      : Group(rank, size), hub_(std::move(hub)), timeout_(timeout) {}
  ~InProcessGroup() override { leave(); }

 private:
  // Mailboxes take what is sent, so one after the other will do.
  void exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) override {
    for (const Outward& message : sends) send_bytes(message.data, message.to, tag);
    for (const Inward& message : receives) receive_bytes(message.data, message.from, tag);
  }

  void send_bytes(std::span<const std::byte> data, int to, int tag) {
    std::unique_lock lock(hub_->mutex);
    auto& mailbox = hub_->mailboxes[{rank(), to, tag}];
    const bool awake =
        hub_->changed.wait_for(lock, timeout_, [&] { return hub_->ended[to] || mailbox.size() < kMaxQueuedMessages; });
    if (!awake) throw PeerFailed(to, "timed out");
    if (hub_->ended[to]) throw PeerFailed(to, "connection closed by peer");
    mailbox.emplace_back(data.begin(), data.end());
    hub_->changed.notify_all();
  }

  void receive_bytes(std::span<std::byte> data, int from, int tag) {
    std::unique_lock lock(hub_->mutex);
    auto& mailbox = hub_->mailboxes[{from, rank(), tag}];
    const bool awake = hub_->changed.wait_for(lock, timeout_, [&] { return hub_->ended[from] || !mailbox.empty(); });
    if (!awake) throw PeerFailed(from, "timed out");
    if (mailbox.empty()) throw PeerFailed(from, "connection closed by peer");
    LINAC_CHECK(mailbox.front().size() == data.size());
    std::copy(mailbox.front().begin(), mailbox.front().end(), data.begin());
    mailbox.pop_front();
    hub_->changed.notify_all();
  }

  void close() noexcept override { leave(); }

  void leave() noexcept {
    const std::lock_guard lock(hub_->mutex);
    hub_->ended[rank()] = true;
    hub_->changed.notify_all();
  }

  std::shared_ptr<Hub> hub_;
  Milliseconds timeout_;
};

}  // namespace

std::vector<std::unique_ptr<Group>> make_in_process_groups(int size, Milliseconds timeout) {
  const auto hub = std::make_shared<Hub>();
  hub->ended.resize(size);
  std::vector<std::unique_ptr<Group>> groups;
  for (int rank = 0; rank < size; ++rank) {
    groups.push_back(std::make_unique<InProcessGroup>(hub, rank, size, timeout));
  }
  return groups;
}

}  // namespace linac::comm
