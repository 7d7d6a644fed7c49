#pragma once
// A socket at which somebody else listens for this process, as systemd does (sd_listen_fds(3)): connections wait in it
// while the service is started anew, and nobody else takes its port.

#include <optional>

#include "linac/control/http/server/server.h"

namespace linac::http {

struct GivenSocket {
  int socket = -1;  // to be closed by whoever takes it
  Address address;
};
/// Nothing if this process was given none. Once, before there are threads: what told of it is taken out of the
/// environment, so that no other program believes to be meant. User error for several, and for what is no listening
/// TCP socket.
std::optional<GivenSocket> given_socket();

}  // namespace linac::http
