#pragma once
// A group of workers that exchange floats and short texts. The transport (TCP, or memory for tests) carries bytes
// between two ranks; the collectives here are built on it once, so they behave alike on every transport.
//
// All ranks call the same collectives in the same order. One thread at a time uses a Group. Destroying it ends the
// connections: peers still waiting for this rank fail instead of hanging.
//
// Groups within a group: split() makes one of some of the ranks, channel() another one of all. Each has messages of its
// own, so several of them and the whole group exchange at the same time, each from a thread of its own. They belong to
// the view in which they were made: when it is left, all their waits end and every further call throws kPeerLost. Who
// needs them makes them anew in the next view, of its members. Views, steps and the end of the run are the business of
// the whole group alone.
//
// Errors: every call that exchanges data throws Error(kPeerLost), naming this rank, the operation and the peer, when
// the peer has ended or does not answer, or when somebody else has left the view. The group is closed by then (which
// ends the peers' waits in turn), and further calls throw the same way until next_view() has opened it again.

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/train/comm/meeting/key_store.h"
#include "linac/train/comm/meeting/rendezvous.h"
#include "linac/train/comm/membership/membership.h"

namespace linac::storage {
class RangeShare;
}

namespace linac::comm {

/// What this rank has sent, and the time it has spent in exchanges, waiting included.
struct Traffic {
  int64_t bytes = 0;
  int64_t messages = 0;
  double seconds = 0;
};

/// Why a transport refuses a message of another tag or size than the one that is due.
inline constexpr const char* kNotDue = "the message is not the one that is due; do all workers run the same program?";

class Group {
 public:
  virtual ~Group() = default;
  Group(const Group&) = delete;
  Group& operator=(const Group&) = delete;

  /// A stretch of an exchange in which nothing of some message had come yet: who sends it was not as far. Seconds of
  /// the steady clock.
  struct Wait {
    double begin_s, end_s;
  };
  /// The waits of all exchanges from here on are appended there; null: of none.
  void note_waits(std::vector<Wait>* waits) { waits_ = waits; }

  int rank() const { return rank_; }
  int size() const { return view_.size(); }
  const Traffic& traffic() const { return traffic_; }

  /// Who is in it. Changes in next_view() only.
  const View& view() const { return view_; }
  /// Gives the view up, and waits for the next one; a newcomer's first call lets it in. Error if there is none for this
  /// process: why the run has ended elsewhere (kPeerLost, kLostQuorum or another worker's error), or, in a group that
  /// cannot change, kPeerLost. The run is complete: false.
  [[nodiscard]] bool next_view(const std::string& why);
  /// Whether another view may follow on this one.
  virtual bool may_change() const { return false; }
  /// This worker stands at `moment` now. False if the view is being left: what led there does not count. A group that
  /// cannot change says true.
  virtual bool commit(const Moment&) {
    LINAC_CHECK(channel_ == 0);
    return true;
  }
  /// This member computes wrongly, as all others say at the same moment: the next view is without it. It is told `why`.
  virtual void shut_out(int /*rank*/, const Error& /*why*/) {}
  /// Whether the group wants its next view after this step: newcomers wait, or replicas are to move. At most one rank
  /// knows.
  virtual bool wants_next_view() const { return false; }
  /// Whether the view is being left: what is done in it any longer is in vain. Thread-safe.
  virtual bool leaving() const { return false; }
  /// What this worker is at, for those who wonder why it takes so long. Thread-safe.
  virtual void mark(const char* /*what*/, int /*number*/ = -1) {}
  /// What a thread beside the training writes to a disk, said again whenever it has come further; empty: nothing any
  /// more. Where nothing is said for too long, this worker hangs. Thread-safe.
  virtual void mark_file(const char* /*what*/) {}
  /// What a replica of a step takes on this worker, in seconds of wall time, and what the record should know of it.
  virtual void tell(double pace_s, std::string account);
  /// Rank 0: what the members told last, by rank; empty accounts where nothing was heard.
  virtual std::vector<Activity> activities() const;
  /// What this process reads of stores' files is shared with the members of every view from here on that are on other
  /// hosts and reached directly. Null: nothing is, and others are refused. In a group that cannot change nothing is.
  virtual void share_ranges(std::shared_ptr<storage::RangeShare> /*share*/) {}
  /// This worker fails, and the run with it or not. Returns when the others have been told, or cannot be.
  virtual void fail_with(const Error&, Reach) noexcept {}
  /// The run is complete, whatever the others still wait for.
  virtual void finish() noexcept {}

  static constexpr int kMaxTag = 1'000'000;

  /// Copies `root`'s data to every rank; the same size everywhere.
  void broadcast(std::span<float> data, int root);
  /// Copies the data of the first of `ranks` to the others of them, who alone call it, with the same list.
  void broadcast_among(std::span<const int> ranks, std::span<std::byte> data);
  /// Several messages at once: all go on side by side, so ranks that send to each other do not wait for each other. At
  /// most one message a peer and direction; none is empty. Received in the order in which they were sent; tag
  /// (0..kMaxTag) and size must be those of the next one, else the peers do not run the same program (kPeerLost).
  /// Returns once all have left and come.
  struct Outward {
    int to;
    std::span<const std::byte> data;
  };
  struct Inward {
    int from;
    std::span<std::byte> data;
  };
  void exchange(std::span<const Outward> sends, std::span<const Inward> receives, int tag);
  /// One message. A send may return only once the peer receives.
  void send(std::span<const float> data, int to, int tag);
  void receive(std::span<float> data, int from, int tag);
  /// Returns when every rank has called it.
  void barrier();

  static constexpr int kNoColour = -1;
  /// Collective. The ranks of the same `colour` become a group of their own, in the order of their `key`s, then of
  /// their ranks here; replicas are dealt to them evenly. Nothing for those of kNoColour. `name` tells the group in
  /// messages and must be the same on all ranks: who opens another one is refused (kPeerLost).
  std::unique_ptr<Group> split(int colour, int key, const std::string& name);
  /// The same of all ranks in their order.
  std::unique_ptr<Group> channel(const std::string& name) { return split(0, rank_, name); }
  /// At rank 0 the texts of all ranks in rank order; elsewhere empty. Each text at most kMaxTextBytes (else user
  /// error).
  std::vector<std::string> gather_text(const std::string& mine);
  static constexpr size_t kMaxTextBytes = 1 << 20;

 protected:
  /// Of a group within a group.
  struct Part {
    View view;  // its members alone
    int rank = 0;
    uint64_t channel = 0;
    std::string name;
    std::vector<int> origins;  // ranks of the whole group, by rank
  };

  /// A group that cannot change.
  Group(int rank, int size);
  explicit Group(View view) : view_(std::move(view)) {}
  explicit Group(Part part);
  void take_place(const View& view, int rank) {
    view_ = view;
    rank_ = rank;
    channels_made_ = 0;
  }
  /// What tells its messages from those of other groups in this view; 0: the whole group.
  uint64_t channel_number() const { return channel_; }
  /// The whole group's number of a rank.
  int origin(int rank) const { return origins_.empty() ? rank : origins_.at(static_cast<size_t>(rank)); }

  /// The transport: see exchange(). Throws PeerFailed; is never called with this rank as a peer, or after close().
  /// Peer -1: of several, none in particular.
  struct PeerFailed : std::runtime_error {
    PeerFailed(int rank, const std::string& why) : std::runtime_error(why), peer(rank) {}
    int peer;
  };
  virtual void exchange_bytes(std::span<const Outward> sends, std::span<const Inward> receives, int tag) = 0;
  /// The transport says of each message that comes when the first of it was there.
  void heard(std::chrono::steady_clock::time_point at) { heard_all_at_ = std::max(heard_all_at_, at); }
  /// This rank's end of a part; the other members open theirs too.
  virtual std::unique_ptr<Group> open_part(Part part) = 0;
  /// Ends all connections. Called once, after a failure; destructors end them too.
  virtual void close() noexcept = 0;
  /// See next_view().
  virtual bool reopen(const std::string& why);
  /// From here on this worker waits for a peer, or for several (-1).
  virtual void waiting_for(int /*peer*/, const char* /*operation*/) {}

 private:
  [[noreturn]] void fail(const char* operation, int peer, const std::string& why);
  void note_wait(std::chrono::steady_clock::time_point begin);
  void exchange_parts(std::span<const Outward> sends, std::span<const Inward> receives, int tag, const char* operation);
  void send_part(std::span<const std::byte> data, int to, int tag, const char* operation);
  void receive_part(std::span<std::byte> data, int from, int tag, const char* operation);
  void broadcast_bytes(std::span<std::byte> data, int root, int tag, const char* operation);
  void up_the_tree(const std::function<void(int child, int end)>& from_child,
                   const std::function<void(int parent, int end)>& to_parent) const;
  void send_texts(std::span<const std::string> texts, int to);
  void receive_texts(std::span<std::string> texts, int from);
  void broadcast_along(std::span<const int> ranks, std::span<std::byte> data, int tag, const char* operation);

  int rank_ = 0;
  View view_;
  uint64_t channel_ = 0;
  std::string name_;          // empty: the whole group
  std::vector<int> origins_;  // empty: the whole group
  int channels_made_ = 0;     // in this view, on all ranks alike
  bool closed_ = false;
  Traffic traffic_;
  std::vector<Wait>* waits_ = nullptr;
  std::chrono::steady_clock::time_point heard_all_at_;  // in the exchange that is under way
  Activity own_;
};

struct GroupSettings {
  std::chrono::milliseconds join_timeout{std::chrono::minutes(10)};  // of the first meeting: data may be scanned before
  std::chrono::milliseconds stall_timeout{std::chrono::minutes(5)};  // of every later wait, see MembershipNode
  int members_min = 1;
  int replicas = 0;      // to deal to the members by their pace; 0: evenly
  int pack = 0;          // of so many at a time, see deal_packs() in membership/view.h; 0: one by one
  bool open = false;     // others may join later, also a lone process
  std::string listen{};  // numeric address to be reached at, in place of the one that the rendezvous implies
  std::vector<std::string> join_addresses{};  // of a run to join, "RUN@HOST:PORT", in place of a rendezvous
  std::filesystem::path folder{};             // the run's, where the views are written down if there is one
  /// Called when this worker hangs, on another thread; ends the process.
  std::function<void(const Error&)> on_hang{};
};

/// Joins the group that `rendezvous` describes, and returns once all ranks have; or makes one that will join the run at
/// `join_addresses` in the first next_view(), and is empty until then. A size of 1 needs no network unless it is open.
/// Otherwise they meet at one of `stores`, and TCP is between them, on the loopback interface when the master is there.
/// Error(kPeerLost) names the ranks that did not join; environment error when the address cannot be used.
std::unique_ptr<Group> make_group(const Rendezvous& rendezvous, const GroupSettings& settings, const Stores& stores);

/// Of this process alone, for ever.
std::unique_ptr<Group> make_lone_group();

}  // namespace linac::comm
