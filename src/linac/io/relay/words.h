#pragma once
// What a relay and its callers say before a connection is anybody's own: lines of text.
//
//   relay   linac relay 1 NONCE                      to each who connects; another nonce each time
//   caller  ROLE ROOM NAME SIGNATURE [PASS]          of the nonce, the role and the name, by who belongs to the room
//   relay   ok                                       or `no REASON`, and it closes
//
//   listen  others reach me by this name. After `ok` a line `call TICKET` comes for each who calls, and `still` where
//           nothing else has come for a quarter of a minute
//   take    NAME is a ticket: I take that call. After `ok` the connection is joined to the caller's
//   call    NAME is whom I call. After `ok` somebody has taken the call
//
// What travels between two joined ends is theirs; the relay copies it. Pure functions.

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "linac/io/relay/identity.h"

namespace linac::relay {

enum class Role { kListen, kTake, kCall };

inline constexpr size_t kLineBytesMax = 1024, kNameBytesMax = 200;
inline constexpr std::string_view kOk = "ok", kNo = "no ", kCallWord = "call ", kStillWord = "still";

/// A line has no newline here.
std::string greeting(std::string_view nonce);
/// The nonce; nothing if the line is no relay's.
std::optional<std::string> nonce_in(std::string_view line);

struct Hello {
  Role role;
  std::string room, name;
  std::string user{};  // whose pass was shown, and holds for the room (access.h); empty: nobody's
};
std::string hello_line(const Identity& identity, Role role, std::string_view name, std::string_view nonce,
                       std::string_view pass = "");
/// Nothing if it is none, its signature is not the room's for this nonce, or it shows a pass of another room.
std::optional<Hello> read_hello(std::string_view line, std::string_view nonce);

/// Letters, digits and ._-:/[], some but no more than kNameBytesMax.
bool is_name(std::string_view name);

}  // namespace linac::relay
