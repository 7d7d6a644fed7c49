#pragma once
// What the processes of a run tell each other about who they are (membership.h). On the wire a message is JSON.

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "linac/train/comm/membership/view.h"

namespace linac::comm {

/// What a process is at, for the verdict on one that hangs.
struct Activity {
  std::string what;       // "computing d_real, replica 3"; empty: not known
  int64_t since_ms = 0;   // how long, when it was told
  bool waiting = false;   // for another process
  double pace_s = 0;      // what a replica of a step takes here; 0: not known
  std::string account{};  // what its training says of its times; for the record
  bool operator==(const Activity&) const = default;
};

/// Why a process, or the run, ends. `code` is an exit status (base/base/error.h); 0: the run is complete.
struct Failure {
  int code = 0;
  std::string text;
  bool operator==(const Failure&) const = default;
};

/// Where a process stands that has left its view.
struct Report {
  int64_t installed = 0;         // the view's number; of a newcomer the latest that it has been in
  std::optional<View> accepted;  // a later one that it has accepted; whole in reports to others than who proposed it,
                                 // else by name_of()
  Moment moment;
  uint64_t unreachable = 0;  // a member to which no connection for data could be made in the installed view; 0: none
  uint64_t silent = 0;       // a member that the sender looks after and does not hear any more; 0: none
  bool operator==(const Report&) const = default;
};

struct Message {
  enum class Type : int {
    kPing,      // a sign of life; report.installed, activity; to the coordinator, of a group: activities
    kCall,      // report yourself to me; report
    kReport,    // report
    kPropose,   // view
    kAccept,    // view.number alone
    kInstall,   // view; without members: the one of this number and proposer, which the receiver has accepted
    kExcluded,  // the run goes on without you; report.installed; with failure: for good, end
    kJoin,      // member; former: its key before, under which it will not be heard again
    kTryThere,  // `address` knows better
    kLeave,     // failure: this process
    kEnd,       // failure: the run
  };
  Type type = Type::kPing;
  uint64_t from = 0;           // key
  std::string from_address{};  // where the answer goes
  Report report{};
  std::optional<View> view{};
  std::optional<Member> member{};
  Activity activity{};
  std::vector<std::pair<uint64_t, Activity>> activities{};  // of those whom the sender looks after, by key
  std::optional<View> promised{};  // kPropose: what the receiver has accepted, as far as the sender knows; by name_of()
  Failure failure{};
  std::string address{};
  uint64_t former = 0;
  bool operator==(const Message&) const = default;
};

/// The kinds of messages with what they want.
Message plain(Message::Type type);
Message with_view(Message::Type type, const View& view);
/// A view by its number and proposer alone.
View name_of(const View& view);
Message with_failure(Message::Type type, const Failure& failure);
Message request_to_join(const Member& self, uint64_t former = 0);
Message direction_to(const std::string& address);

/// With `known`, a view that the receiver has installed: message.view travels as what it changes of that one.
std::string encode(const Message& message, const View* known = nullptr);
/// `installed`: the own view. Throws std::exception for anything that encode() does not make, and for a change of
/// another view.
Message decode_message(std::string_view bytes, const View& installed = {});

}  // namespace linac::comm
