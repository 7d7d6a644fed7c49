#pragma once
// Which service the verbs speak to, and as whom. What `linac login` keeps lies in a file that only its owner can read.
// Thread-safe.

#include <filesystem>
#include <string>

namespace linac::client {

struct Login {
  std::string server;   // "http://127.0.0.1:5000", without a slash at the end
  std::string token;    // empty: none is known
  std::string ca_file;  // PEM, for services with a certificate of one's own; empty: the system's
};

/// `server`, else LINAC_SERVER, else the service logged in to last, else the one that `linac serve` starts on this
/// host; its token from LINAC_TOKEN, else from the login. LINAC_CA_FILE names the certificate. User error for what is
/// no http(s) address.
Login find_login(const std::string& server);

/// $XDG_CONFIG_HOME/linac/login.json, else ~/.config/linac/login.json.
std::filesystem::path login_file();
/// Environment error if it cannot be written.
void keep_login(const Login& login);
/// Whether there was one.
bool forget_login(const std::string& server);

inline constexpr const char* kDefaultServer = "http://127.0.0.1:5000";

}  // namespace linac::client
