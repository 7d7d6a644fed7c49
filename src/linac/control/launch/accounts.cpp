#include "linac/control/launch/accounts.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>

namespace linac::launch {

std::string own_account() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(geteuid());
}

std::string why_not_as(const std::string& account) {
  if (account.empty()) return "no account of this host is declared for the user";
  if (account == own_account()) return "";
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(account.c_str(), &entry, buffer.data(), buffer.size(), &found);
  if (found == nullptr) return fmt::format("this host has no account '{}'", account);
  if (geteuid() != 0)
    return fmt::format("the service runs as '{}' and cannot start jobs as '{}'", own_account(), account);
  return "";
}

}  // namespace linac::launch
