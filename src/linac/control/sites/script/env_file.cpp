#include "linac/control/sites/script/env_file.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstring>
#include <sstream>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"
#include "linac/base/base/utf8.h"

namespace linac::sites {
namespace {

// They say who a worker is.
constexpr std::array kOwn{"TF_CONFIG",  "WORKER_NUMBER",    "TOT_WORKERS", "RANK",       "WORLD_SIZE",
                          "LOCAL_RANK", "LOCAL_WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT"};

bool is_variable(const std::string& name) {
  const auto letter = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  return !name.empty() && std::isdigit(static_cast<unsigned char>(name[0])) == 0 &&
         std::all_of(name.begin(), name.end(), letter);
}

std::string stripped(const std::string& line) {
  const char* const blanks = " \t\r";
  const size_t begin = line.find_first_not_of(blanks);
  return begin == std::string::npos ? "" : line.substr(begin, line.find_last_not_of(blanks) - begin + 1);
}

}  // namespace

std::string read_users_text(const std::filesystem::path& path, const std::string& what, size_t bytes_max) {
  const std::string where = fmt::format("[spawn] {}: ", printable(path.string()));
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!file) throw user_error(where + fmt::format("{} cannot be opened ({})", what, std::strerror(errno)));
  struct stat about = {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    throw user_error(where + what + " is no file; name one");
  std::string text;
  std::array<char, 65536> piece;
  // Its size may be wrong by now.
  while (text.size() <= bytes_max && static_cast<uintmax_t>(about.st_size) <= bytes_max) {
    const ssize_t got = ::read(file.get(), piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw user_error(where + fmt::format("{} cannot be read ({})", what, std::strerror(errno)));
    if (got == 0) {
      if (const size_t bad = find_no_text(text); bad != std::string::npos)
        throw user_error(where + fmt::format("line {} is no text in UTF-8",
                                             1 + std::count(text.begin(), text.begin() + std::ptrdiff_t(bad), '\n')));
      return text;
    }
    text.append(piece.data(), static_cast<size_t>(got));
  }
  throw user_error(where + fmt::format("{} has more than {} KiB, and has to fit into an object of Kubernetes; bring "
                                       "large things as --data",
                                       what, bytes_max >> 10));
}

std::map<std::string, std::string> parse_env_file(const std::string& text, const std::string& file) {
  std::map<std::string, std::string> variables;
  std::istringstream lines(text);
  int number = 0;
  for (std::string whole; std::getline(lines, whole);) {
    ++number;
    const std::string line = stripped(whole), where = fmt::format("[spawn] {}:{}: ", printable(file), number);
    if (line.empty() || line[0] == '#') continue;
    const size_t equals = line.find('=');
    if (equals == std::string::npos) throw user_error(where + "no NAME=VALUE");
    const std::string name = line.substr(0, equals);
    if (name.starts_with("export ")) throw user_error(where + "begins with export; write NAME=VALUE alone");
    if (!is_variable(name))
      throw user_error(where + "what stands before '=' is no name of letters, digits and _ alone");
    if (std::ranges::find(kOwn, name) != kOwn.end() || name.starts_with("LINAC_SPAWN_") ||
        name.starts_with("LINAC_RUN_KEY"))
      throw user_error(where + name + " is set for each worker; leave it out");
    if (!variables.emplace(name, line.substr(equals + 1)).second)
      throw user_error(where + name + " stands there before; keep one of them");
  }
  return variables;
}

}  // namespace linac::sites
