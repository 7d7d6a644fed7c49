#pragma once
// Who may use a relay: a list that whoever runs it keeps, a line each; '#' begins a remark.
//
//   network 10.1.0.0/16   who calls from there
//   user KEY              runs of who has that key (`linac relay key` makes one)
//   run ROOM              that run (`linac relay pass` tells its room)
//
// Where networks are listed, a connection comes from one of them; where users or runs are, it is of one of them. A run
// is a user's by a pass: his signature of the run's room. It is no secret, as whoever shows it signs for the room
// itself, too. Immutable, thread-safe.

#include <set>
#include <string>
#include <string_view>

#include "linac/base/base/networks.h"
#include "linac/io/relay/identity.h"

namespace linac::relay {

/// Of a user, whose key is the file: 64 hexadecimal digits that its owner alone can read. User error for what is none.
Identity read_user_key(const std::string& path);
/// The same, where there is no such file yet: it is made. Environment error where it cannot be.
Identity make_user_key(const std::string& path);

/// "USER:SIGNATURE", which whoever belongs to the room shows with each hello.
std::string make_pass(const Identity& user, std::string_view room);
/// Whether it looks like one; whose it is, and of which room, nobody has looked.
bool is_pass(std::string_view text);
/// Whose it is; empty if it is none of this room.
std::string user_of_pass(std::string_view pass, std::string_view room);

class Access {
 public:
  /// Anybody.
  Access() = default;
  /// User error "SOURCE:LINE: ..." for a line that is none, or a list of nobody.
  Access(const std::string& text, const std::string& source);

  bool takes_from(const std::string& address) const { return networks_.empty() || networks_.contains(address); }
  /// `user`: whose pass was shown; empty: none.
  bool takes(const std::string& room, const std::string& user) const {
    return (users_.empty() && runs_.empty()) || users_.contains(user) || runs_.contains(room);
  }

 private:
  Networks networks_;
  std::set<std::string> users_, runs_;
};

}  // namespace linac::relay
