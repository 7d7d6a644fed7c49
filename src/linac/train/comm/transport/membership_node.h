#pragma once
// A process of a run on the network: a listener, a thread that keeps up the membership (membership.h) whatever the
// training does, and the connections by which the members of a view exchange data. A watchdog watches over that thread,
// over the training, and over the file in which the next view is written down: what says nothing for the stall timeout
// (a file: half of it), and does not wait for others, hangs. Then this worker leaves, whatever it hangs on.
//
// Thread-safe. await_view() is for one thread; each channel's connections are (see group.h).
//
// The clock of the membership counts only the time in which this process runs: after a halt (SIGSTOP, a suspended batch
// job) the others have not been silent, it has.

#include <poll.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <tuple>
#include <vector>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/train/comm/membership/membership.h"
#include "linac/train/comm/membership/watchdog.h"
#include "linac/train/comm/transport/control_links.h"
#include "linac/train/comm/transport/link_calls.h"
#include "linac/train/comm/transport/view_end.h"

namespace linac::comm {

/// Notes that `next` follows the view of this number, and gives the view that does: `next`, or another that was noted
/// before. May wait for a disk, also for ever; called on a thread of its own.
using Ledger = std::function<View(int64_t number, const View& next)>;

class MembershipNode {
 public:
  struct Settings {
    std::string host;                          // numeric address to listen at
    std::string advertise;                     // and to be reached at, if another
    PortRange ports{};                         // to listen at
    std::shared_ptr<const LinkContext> links;  // of the run's members; what others open is closed
    std::shared_ptr<const Ways> ways{};        // to those of other groups; none: all are reached directly
    std::string ledger{};                      // see Member
    int members_min = 1;
    int replicas = 0, pack = 0;  // see MembershipSettings
    std::chrono::milliseconds stall_timeout{300'000};
    std::function<void(const Error&)> on_hang;
  };

  explicit MembershipNode(const Settings& settings);
  /// Waits a second at most for the copies of views on their way to this folder.
  ~MembershipNode();
  MembershipNode(const MembershipNode&) = delete;
  MembershipNode& operator=(const MembershipNode&) = delete;

  const Member& self() const { return self_; }
  /// One of both, once. The ledger may be empty.
  void found(const View& first, Ledger ledger);
  void join(const std::vector<std::string>& contacts, Ledger ledger);

  /// Waits until a view later than `number` is installed and gives it with this process's rank; nothing if the run is
  /// complete. Throws the Error that ended the run or this process's part in it.
  struct Place {
    View view;
    int rank = 0;
    std::shared_ptr<ViewEnd> end;  // comes when the view is being left
  };
  std::optional<Place> await_view(int64_t number);
  void leave_view(const std::string& why);
  /// No connection for data could be made to this member of the view given last.
  void complain_of(const Member& member);
  /// See Group.
  void shut_out(const Member& member, const Error& why);
  bool commit(const Moment& moment);
  bool wants_next_view();
  /// See Group. Returns when the others have been told, or cannot be.
  void fail_with(const Error& error, Reach reach);
  void finish();

  /// Links by which others ask for ranges of files go there, those too that came before; on the node's thread or this
  /// one. Empty: they are closed.
  void welcome_neighbours(std::function<void(SecureLink)> take);
  /// Such a link to a member at this address; throws std::exception.
  SecureLink call_neighbour(const std::string& address, const ViewEnd& end);
  /// Of each other host whose workers are reached directly, and of this one, the first worker's address.
  struct Neighbours {
    std::vector<std::string> names;
    std::string self;  // this process's among them, else empty
  };
  Neighbours neighbours(const View& view) const;

  /// Those of its links with the other processes, for data too where nobody has taken them yet.
  size_t descriptors();

  /// What the training is at.
  void mark(const char* what, int number, bool waiting);
  /// See Group.
  void mark_file(const char* what);
  /// What a replica of a step takes here, and what the record should know of this worker's times.
  void tell(double pace_s, std::string account);
  /// The latest that was heard of the members of the view given last, by rank.
  std::vector<Activity> activities();

  /// Whether the view last given by await_view() is being left.
  bool leaving();
  /// Ends all waits for its data on this process.
  void close_view() noexcept;
  /// Waits until one of the training's sockets is ready for what is polled; throws std::exception when the view has
  /// come to its `end`, or after `limit`.
  static void wait_for_data(std::vector<pollfd>& polled, std::chrono::milliseconds limit, const ViewEnd& end);
  /// Links for this process's data to these ranks. Throws LinkFailed.
  std::vector<SecureLink> connect_data(const View& view, std::span<const int> to, uint64_t channel, const ViewEnd& end);
  /// One of a member's data to this process: waits until it is there, until the view is left, or `limit`. Throws
  /// std::exception with the reason.
  SecureLink accept_data(const View& view, int from, uint64_t channel, std::chrono::milliseconds limit,
                         const ViewEnd& end);

 private:
  // What others leave for the thread, who may outlive the node.
  struct Desk {
    struct Answer {
      int64_t number = 0;
      std::optional<View> next;
      std::string why{};  // there is none
    };

    Desk();
    void wake() const;

    Descriptor bell;
    std::mutex mutex;  // of everything below; held for moments only
    std::vector<Answer> answers{};
    std::optional<Failure> verdict{};
    int copies = 0;  // of views, that are being written
    std::condition_variable copied{};
  };

  void start(const std::function<void(Membership&)>& begin, Ledger ledger);
  void run();
  void pass_time(ControlLinks::News news);
  void digest(ControlLinks::News news);
  void welcome_neighbour(SecureLink link);
  void after_change();
  void take_leave() noexcept;
  void say_events();
  void write_down(const LedgerNote& note);
  void copy_view(const View& view);
  void give_up(const std::string& what, double seconds);
  void wake() { desk_->wake(); }
  Activity activity() const;

  const Settings settings_;
  ControlLinks links_;  // used by the thread alone
  const std::shared_ptr<Desk> desk_;
  Ledger ledger_;
  Member self_;
  std::mutex mutex_;  // of everything below
  std::condition_variable changed_;
  Membership membership_;
  std::map<std::tuple<int64_t, uint64_t, uint64_t>, SecureLink> data_;  // arrived, by view, channel and sender
  std::optional<std::function<void(SecureLink)>> take_neighbour_;       // nothing: it has yet to be said
  std::vector<SecureLink> early_neighbours_;                            // until then
  int64_t clock_ms_ = 0;
  int64_t given_view_ = 0;
  std::shared_ptr<ViewEnd> view_end_;  // of that view
  double pace_s_ = 0;
  std::string account_;
  bool ending_ = false;  // the thread is to end
  std::atomic<int> rank_ = -1;
  std::atomic<size_t> control_descriptors_ = 0;
  Watchdog watchdog_, files_watchdog_;
  std::thread thread_;
};

}  // namespace linac::comm
