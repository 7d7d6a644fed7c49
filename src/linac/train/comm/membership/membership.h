#pragma once
// The agreement on who trains together: one process's side of it, as a state machine without threads, sockets or
// clocks. Messages, refused connections and the time come in, messages go out; membership_node.h gives it a network,
// test_membership_simulation.h a simulated one. Not thread-safe.
//
// In a view, the most senior member (the coordinator) and the others exchange pings. When somebody is lost, gives the
// view up or wants to join, all leave the view for the next one: each member stops where it stands (commit() refuses
// from then on) and reports that moment to the most senior one it can reach, which proposes a view, waits until all its
// members have accepted, and installs it. The training in a view wants all its members for every step, so a view that
// some have not installed cannot move; what is left to exclude is that two views without a member in common both move:
//
// A view may be proposed only with a quorum of every view that a reporter has installed or accepted. Members whose
// process is known to have ended do not count: they took their leave, or their address on this very machine refuses
// connections. From another machine a refusal may be a firewall's or a router's word, so it counts only where a ledger
// that all share decides in the end. Of the others, more must be on board than are silent, or as many with the most
// senior among them. The rule of the majority goes back to Gifford's weighted voting (SOSP 1979); the accept that binds
// to Paxos (Lamport 1998).
//
// That rule trusts that somebody lives who knows of the latest view. Where the processes share a folder, a ledger does
// without that trust: each view has one successor, and who comes second to write it down learns which.
//
// Where there are many members, pings go in two levels, so that nobody needs a link to all: the coordinator and the
// first member of each group of neighbours look after each other, and each of these after its group. Who notices a loss
// leaves the view; between two views all speak to who proposes.
//
// A member that was excluded while it could not be heard learns of it from the answers to its messages or from the
// ledger, and joins anew.
//
// All times are milliseconds of any steady clock.

#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "linac/base/base/error.h"
#include "linac/train/comm/membership/membership_message.h"
#include "linac/train/comm/membership/view.h"

namespace linac::comm {

struct MembershipSettings {
  int64_t ping_ms = 200;       // between two signs of life
  int64_t retry_ms = 100;      // between two attempts at anything; longer where many ask one (pause())
  int64_t silence_ms = 10000;  // a member not heard of for so long is taken for lost
  int64_t quorum_ms = 120000;  // how long to look for a quorum, for enough members, or for the run to join
  int64_t answer_ms = 15000;   // how long a newcomer bears that no member of the run says a word to it
  int members_min = 1;
  int fruitless_max = 5;   // views lost in a row without a step: the step itself is deadly
  int idle_max = 20;       // views in a row without a step, or with members that do not reach each other
  int replicas = 0;        // to deal to the members by their pace; 0: evenly
  int pack = 0;            // of so many at a time, see deal_packs(); 0: one by one
  int one_level_max = 32;  // members that all exchange pings with the coordinator; more do it in groups
};

/// Whom a failure ends.
enum class Reach { kThisWorker, kRun };

/// What happened, for the log; `text` is a sentence.
struct MembershipEvent {
  enum class Kind { kLost, kJoined, kInstalled, kExcluded, kShares, kTrouble, kNote };
  Kind kind;
  std::string text;
  std::optional<Member> silent{};  // kLost: a member whose process may still be there
  Activity last_activity{};        // kLost: what it was doing as far as is known
};

/// To be written down: `next` follows the view of this number.
struct LedgerNote {
  int64_t number = 0;
  View next;
};

class Membership {
 public:
  enum class Phase { kJoining, kRunning, kRegrouping, kEnded };

  /// `self`: address, host and pid. `draw_key` gives random numbers.
  Membership(Member self, const MembershipSettings& settings, std::function<uint64_t()> draw_key);
  /// The views are to be written down: what take_note() gives, each answered by on_noted() or on_note_failed().
  void keep_ledger() { ledger_kept_ = true; }

  /// The start of a run: the founders' view, alike on all of them; self is one of its members by address.
  void found(const View& first, int64_t now);
  /// The start of a newcomer: any member's address will do.
  void join(const std::vector<std::string>& addresses, int64_t now);

  /// The training has finished a step, and stands at `moment` now. False if this view is being left: then the step does
  /// not count, and the training goes back to the moment before it. Only while running().
  bool commit(const Moment& moment);
  /// This process gives the view up (a connection broke), or wants newcomers let in. No effect unless running.
  void leave_view(const std::string& why, int64_t now);
  /// Whether it is time for the next view after a step: newcomers wait, or some members have become much faster or
  /// slower than their shares. True on the coordinator only: it has to tell the others.
  bool wants_next_view() const {
    return phase_ == Phase::kRunning && coordinates() && (!newcomers_.empty() || unfair_since_ == kLongUnfair);
  }
  /// No connection for data could be made to this member of the view. Where that goes on, one of the two is excluded.
  void complain_of(uint64_t key);
  /// This member is to be in no view any more: it computes wrongly, as all others say at the same moment. It is told
  /// `why`. Of the others a view is on its way then.
  void shut_out(uint64_t key, const Failure& why, int64_t now);
  /// Ends the run for all with this error, or this process's part in it. Reaches whoever hears it.
  void abort(const Failure& failure);
  void depart(const Failure& why);
  /// The run is complete, for all.
  void finish() { abort({}); }
  void set_activity(const Activity& activity) { activity_ = activity; }

  void on_message(const Message& message, int64_t now);
  /// Connections to the address are refused: its process has ended, or something on the way says so.
  void on_refused(const std::string& address, int64_t now);
  void on_tick(int64_t now);
  /// The ledger has it that `next` follows the view of this number: what was to be noted, or another that came before.
  void on_noted(int64_t number, const View& next, int64_t now);
  /// It could not be written, nor read. It is tried again, and at last the run ends: the disk is everybody's.
  void on_note_failed(int64_t number, const std::string& why, int64_t now);

  Phase phase() const { return phase_; }
  bool running() const { return phase_ == Phase::kRunning; }
  const View& view() const { return installed_; }  // the last one installed
  int rank() const { return installed_.rank_of(self_.key); }
  bool leads() const;                                // the next view would be this process's to propose
  const Failure& ending() const { return ending_; }  // when kEnded; code 0: the run is complete
  uint64_t key() const { return self_.key; }
  /// Addresses whose connections this process needs to know broken.
  std::vector<std::string> watched() const;
  /// The latest that was heard of each member, by rank; of oneself what was set. A member hears of the coordinator
  /// only.
  std::vector<Activity> activities() const;

  struct Outgoing {
    std::string to;
    Message message;
    bool knows_view = false;  // the receiver has installed the same view as this process
  };
  std::vector<Outgoing> take_outgoing() { return std::exchange(outgoing_, {}); }
  std::vector<MembershipEvent> take_events() { return std::exchange(events_, {}); }
  std::optional<LedgerNote> take_note() { return std::exchange(note_, {}); }

 private:
  enum class Standing { kPresent, kSilent, kGone };
  static constexpr int64_t kNever = std::numeric_limits<int64_t>::min() / 2;
  struct Peer {
    Standing standing = Standing::kPresent;
    int64_t heard = 0;
    std::optional<Report> report;  // of this regrouping
    bool accepted = false;         // the view that this process proposes
    Activity activity;
    std::string farewell;  // why it left
    bool expelled = false;
    int64_t told = kNever;  // when it was last sent the view that it lacks
  };

  // The state of the complaint about shares: none, or since when; confirmed after a while.
  static constexpr int64_t kFair = -1, kLongUnfair = -2;

  std::vector<size_t> neighbours() const;  // by rank: with whom pings are exchanged in the installed view
  bool in_groups() const { return installed_.size() > settings_.one_level_max; }
  bool coordinates() const { return !installed_.members.empty() && installed_.members.front().key == self_.key; }
  int64_t pause() const;
  int64_t answer_time() const;
  Peer& peer(uint64_t key) { return peers_[key]; }
  Activity activity_of(const Member& member) const;
  std::vector<Member> others() const;  // of the views that are installed or that somebody has accepted
  const Member* candidate() const;     // who is to propose: the most senior one present
  Report own_report() const;
  int64_t highest_number() const;

  void send(const std::string& to, Message message, bool knows_view = false);
  void send_to_others(const Message& message);
  void tell_all(const Message& message);  // newcomers too
  void report_to(const std::string& to);
  void ask_for_view(const std::string& of);
  void regroup(const std::string& why, int64_t now);
  void lose(const Member& member, Standing standing, const std::string& why, int64_t now);
  void install(const View& view, int64_t now);
  void end(const Failure& failure);
  void become_newcomer(std::set<std::string> contacts, int64_t now);
  void renounce(const std::string& address);
  Failure unwritten() const;
  void hear(const Message& message, int64_t now);
  bool is_promised(const Report& report) const;
  const View* meant(const View& view) const;
  bool put_straight(const Message& message, int64_t now);
  bool means_end(const std::string& refusing) const;

  void as_newcomer(const Message& message, int64_t now);
  std::string why_not_let_in(int64_t now) const;
  void as_member(const Message& message, int64_t now);
  void on_report(const Message& message, int64_t now);
  void on_propose(const Message& message, int64_t now);
  void on_join(const Message& message, int64_t now);

  void tick_running(int64_t now);
  Message ping_to(size_t rank) const;
  void hasten(uint64_t silent, int64_t now);
  void tick_regrouping(int64_t now);
  void tick_joining(int64_t now);
  void note_silence(int64_t now);
  void note_silence_of(const Member& member, int64_t now);
  void propose_if_ready(int64_t now);
  enum class Extent { kWhole, kChange };
  void propose_to(const Member& member, Extent extent);
  bool is_expelled(const Message& message);
  std::optional<size_t> most_cut_off() const;
  void expel_the_cut_off(int64_t now);
  void expel(const Member& member, const std::string& why, int64_t now);
  void expel(const Member& member, const std::string& why, const Failure& told, int64_t now);
  void expel_the_deaf(int64_t now);
  void install_if_accepted(int64_t now);
  void install_for_all(const View& view, int64_t now);
  bool aboard(const Member& member) const;  // reported, or oneself
  bool has_quorum(const View& view) const;
  bool has_all_quorums() const;
  bool stepped() const;
  bool quarrelled() const;
  View next_view() const;
  void deal_by_pace(View& view) const;
  void watch_shares(int64_t now);

  Member self_;
  const MembershipSettings settings_;
  const std::function<uint64_t()> draw_key_;
  Phase phase_ = Phase::kJoining;
  View installed_;
  std::optional<View> accepted_;  // of another's making, later than installed_
  std::optional<View> proposed_;  // by this process; once dropped it is never installed
  std::map<uint64_t, Peer> peers_;
  std::map<uint64_t, std::pair<Member, int64_t>> newcomers_;  // with the time they were last heard
  std::set<std::string> contacts_;                            // addresses that a newcomer asks to be let in
  std::set<std::string> refused_contacts_;                    // of them, where nobody listened when last tried
  std::optional<int64_t> all_closed_since_;
  int64_t answered_ = kNever;                           // when a newcomer last heard a word of the run
  std::string left_because_;                            // the last view
  uint64_t unreachable_ = 0;                            // see complain_of(); in this view
  uint64_t silent_ = 0;                                 // a member that this process looked after, and lost
  std::set<std::pair<uint64_t, uint64_t>> complaints_;  // heard as the one who proposes, while the views are idle
  std::map<std::string, Failure> expelled_;             // by address: told again when they are heard
  int64_t proposed_at_ = 0, proposed_to_all_ = 0;
  bool ledger_kept_ = false;
  std::optional<LedgerNote> note_;  // to be handed out
  bool noting_ = false;             // until the answer comes
  std::string note_error_;          // of the last attempt in this regrouping
  int64_t note_again_ = 0;          // not before
  Moment moment_;
  Activity activity_;
  Failure ending_;
  bool departed_ = false;
  int64_t phase_began_ = 0, last_attempt_ = 0, last_ping_ = 0, looked_for_silence_ = 0;
  int64_t seen_number_ = 0;
  int64_t latest_view_ = 0;  // the number of the latest view that this process has installed, under whatever key
  int64_t unfair_since_ = kFair;
  std::vector<Outgoing> outgoing_;
  std::vector<MembershipEvent> events_;
};

}  // namespace linac::comm
