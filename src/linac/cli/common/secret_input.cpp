#include "linac/cli/common/secret_input.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <iostream>

#include "linac/base/base/descriptor.h"
#include "linac/base/base/error.h"

namespace linac::cli {
namespace {

std::string line_of_terminal(const std::string& prompt, const termios& former) {
  fmt::print(stderr, "{}: ", prompt);
  termios quiet = former;
  quiet.c_lflag &= ~static_cast<tcflag_t>(ECHO);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &quiet);
  std::string line;
  std::getline(std::cin, line);
  tcsetattr(STDIN_FILENO, TCSAFLUSH, &former);
  fmt::print(stderr, "\n");
  return line;
}

std::string all_of(int file, const std::string& name, size_t bytes_max) {
  std::string bytes;
  char piece[4096];
  for (;;) {
    const ssize_t got = ::read(file, piece, sizeof piece);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) throw user_error(fmt::format("[secrets] {}: cannot be read ({})", name, std::strerror(errno)));
    if (got == 0) return bytes;
    bytes.append(piece, static_cast<size_t>(got));
    if (bytes.size() > bytes_max)
      throw user_error(fmt::format("[secrets] {}: has more than {} bytes, which no secret has", name, bytes_max));
  }
}

}  // namespace

std::string secret_input(const std::string& prompt, size_t bytes_max) {
  termios former{};
  if (isatty(STDIN_FILENO) != 0 && tcgetattr(STDIN_FILENO, &former) == 0) return line_of_terminal(prompt, former);
  return all_of(STDIN_FILENO, "standard input", bytes_max);
}

std::string secret_file(const std::string& path, size_t bytes_max) {
  const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY));
  if (!file) throw user_error(fmt::format("[secrets] {}: cannot be read ({})", path, std::strerror(errno)));
  struct stat about {};
  if (::fstat(file.get(), &about) != 0 || !S_ISREG(about.st_mode))
    throw user_error(fmt::format("[secrets] {}: is no file; what a program prints comes by standard input", path));
  return all_of(file.get(), path, bytes_max);
}

}  // namespace linac::cli
