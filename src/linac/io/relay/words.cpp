#include "linac/io/relay/words.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>

#include "linac/base/base/hex.h"
#include "linac/io/relay/access.h"

namespace linac::relay {
namespace {

constexpr std::string_view kGreeting = "linac relay 1 ";
constexpr size_t kNonceDigits = 32;

constexpr std::array<std::pair<Role, std::string_view>, 3> kRoles{
    {{Role::kListen, "listen"}, {Role::kTake, "take"}, {Role::kCall, "call"}}};

std::string_view word_of(Role role) {
  return std::ranges::find(kRoles, role, &std::pair<Role, std::string_view>::first)->second;
}

std::string to_sign(std::string_view nonce, std::string_view role, std::string_view name) {
  return fmt::format("{}{}\n{}\n{}", kGreeting, nonce, role, name);
}

std::string_view take_word(std::string_view& line) {
  const size_t end = std::min(line.find(' '), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(std::min(end + 1, line.size()));
  return word;
}

}  // namespace

std::string greeting(std::string_view nonce) {
  return fmt::format("{}{}", kGreeting, nonce);
}

std::optional<std::string> nonce_in(std::string_view line) {
  if (!line.starts_with(kGreeting)) return std::nullopt;
  line.remove_prefix(kGreeting.size());
  if (line.size() != kNonceDigits || !is_hex(line)) return std::nullopt;
  return std::string(line);
}

std::string hello_line(const Identity& identity, Role role, std::string_view name, std::string_view nonce,
                       std::string_view pass) {
  const std::string_view word = word_of(role);
  return fmt::format("{} {} {} {}{}{}", word, identity.room(), name, identity.sign(to_sign(nonce, word, name)),
                     pass.empty() ? "" : " ", pass);
}

std::optional<Hello> read_hello(std::string_view line, std::string_view nonce) {
  const std::string_view role = take_word(line), room = take_word(line), name = take_word(line),
                         signature = take_word(line), pass = line;
  const auto* const known = std::ranges::find(kRoles, role, &std::pair<Role, std::string_view>::second);
  if (known == kRoles.end() || !is_name(name) || !is_signed(room, to_sign(nonce, role, name), signature))
    return std::nullopt;
  Hello hello{known->first, std::string(room), std::string(name), user_of_pass(pass, room)};
  if (!pass.empty() && hello.user.empty()) return std::nullopt;
  return hello;
}

bool is_name(std::string_view name) {
  const auto fits = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 ||
           std::string_view("._-:/[]").find(c) != std::string_view::npos;
  };
  return !name.empty() && name.size() <= kNameBytesMax && std::ranges::all_of(name, fits);
}

}  // namespace linac::relay
