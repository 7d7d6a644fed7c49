#include "linac/io/relay/access.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <sstream>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/hex.h"
#include "linac/base/base/secure_random.h"
#include "linac/base/base/utf8.h"

namespace linac::relay {
namespace {

constexpr size_t kKeyDigits = 64, kSignatureDigits = 128;

std::string to_sign(std::string_view room) {
  return fmt::format("linac relay pass 1\n{}", room);
}

bool is_key(std::string_view text) {
  return text.size() == kKeyDigits && is_hex(text);
}

}  // namespace

Identity read_user_key(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_RDONLY | O_NONBLOCK | O_CLOEXEC));
  if (!file)
    throw user_error(
        fmt::format("[relay] {}: cannot be read ({}); `linac relay key FILE` makes one", path, std::strerror(errno)));
  struct stat facts {};
  if (fstat(file.get(), &facts) != 0 || !S_ISREG(facts.st_mode))
    throw user_error(fmt::format("[relay] {}: not a file; name that of a key", path));
  if ((facts.st_mode & (S_IRWXG | S_IRWXO)) != 0)
    throw user_error(fmt::format("[relay] {}: others than its owner can reach it; chmod 600", path));
  char text[kKeyDigits + 2];
  const auto size = read(file.get(), text, sizeof text);
  const auto seed = size < 0 ? std::nullopt : seed_in({text, static_cast<size_t>(size)});
  if (!seed)
    throw user_error(
        fmt::format("[relay] {}: not a key, which has {} hexadecimal digits; `linac relay key FILE` makes "
                    "one",
                    path, kKeyDigits));
  return Identity(*seed);
}

Identity make_user_key(const std::string& path) {
  const Descriptor file(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, S_IRUSR | S_IWUSR));
  if (!file && errno == EEXIST) return read_user_key(path);
  const std::string text = random_hex(kKeyDigits) + "\n";
  if (!file || write(file.get(), text.data(), text.size()) != static_cast<ssize_t>(text.size()) ||
      fsync(file.get()) != 0)
    throw environment_error(fmt::format("[relay] {}: cannot be written ({})", path, std::strerror(errno)));
  return read_user_key(path);
}

std::string make_pass(const Identity& user, std::string_view room) {
  return fmt::format("{}:{}", user.room(), user.sign(to_sign(room)));
}

bool is_pass(std::string_view text) {
  return text.size() == kKeyDigits + 1 + kSignatureDigits && text[kKeyDigits] == ':' &&
         is_hex(text.substr(0, kKeyDigits)) && is_hex(text.substr(kKeyDigits + 1));
}

std::string user_of_pass(std::string_view pass, std::string_view room) {
  if (!is_pass(pass)) return "";
  const std::string_view user = pass.substr(0, kKeyDigits);
  return is_signed(user, to_sign(room), pass.substr(kKeyDigits + 1)) ? std::string(user) : "";
}

Access::Access(const std::string& text, const std::string& source) {
  std::istringstream lines(text);
  int number = 0;
  for (std::string line; std::getline(lines, line);) {
    ++number;
    std::istringstream words(line.substr(0, line.find('#')));
    std::string what, which, more;
    if (!(words >> what)) continue;
    words >> which;
    const bool good = !(words >> more) && ((what == "network" && networks_.add(which)) ||
                                           ((what == "user" || what == "run") && is_key(which)));
    if (!good)
      throw user_error(
          fmt::format("[relay] {}:{}: '{}' is none of: network ADDRESS[/BITS], user KEY, run ROOM (64 hexadecimal "
                      "digits each); correct it, or begin it with # (linac relay --help)",
                      source, number, printable(line)));
    if (what != "network") (what == "user" ? users_ : runs_).insert(which);
  }
  if (networks_.empty() && users_.empty() && runs_.empty())
    throw user_error(
        fmt::format("[relay] {}: it lists nobody; `network 0.0.0.0/0` takes all, as without --allow", source));
}

}  // namespace linac::relay
