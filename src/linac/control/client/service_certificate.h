#pragma once
// Whom a token is for. At a loopback address any program of the host may have taken the service's port, so a token that
// names its service's certificate (control/catalog/users.h) is sent by TLS, to whoever proves to have that. Thread-safe.

#include <string>

#include "linac/control/client/login.h"

namespace linac::client {

/// The SHA-256 of the certificate, 64 hexadecimal digits, that the login's token ends with, for a loopback address
/// without TLS. "" for a token that names none, for other addresses, and with LINAC_UNPROVEN=1.
std::string certificate_of_service(const Login& login);

/// "https://HOST:PORT..." of an address that begins with http://, the same port.
std::string by_tls(const std::string& server);

}  // namespace linac::client
