#include "linac/control/launch/accounts.h"

#include <fmt/format.h>
#include <pwd.h>
#include <unistd.h>

#include <array>
#include <optional>

namespace linac::launch {
namespace {

std::optional<uid_t> number_of(const std::string& account) {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwnam_r(account.c_str(), &entry, buffer.data(), buffer.size(), &found);
  return found == nullptr ? std::nullopt : std::optional(found->pw_uid);
}

}  // namespace

std::string own_account() {
  std::array<char, 4096> buffer{};
  passwd entry{};
  passwd* found = nullptr;
  getpwuid_r(geteuid(), &entry, buffer.data(), buffer.size(), &found);
  return found != nullptr ? found->pw_name : std::to_string(geteuid());
}

bool is_root(const std::string& account) {
  return number_of(account) == uid_t{0};
}

std::string why_not_as(const std::string& account) {
  if (account.empty()) return "no account of this host is declared for the user";
  if (account == own_account()) return "";
  const auto number = number_of(account);
  if (!number) return fmt::format("this host has no account '{}'", account);
  if (*number == 0)
    return fmt::format("'{}' is root, without the sandbox that jobs of the service itself have", account);
  if (geteuid() != 0)
    return fmt::format("the service runs as '{}' and cannot start jobs as '{}'", own_account(), account);
  return "";
}

}  // namespace linac::launch
