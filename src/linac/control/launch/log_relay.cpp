#include "linac/control/launch/log_relay.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "linac/base/base/error.h"

namespace linac::launch {
namespace {

constexpr size_t kPieceBytes = 64 << 10;

// What a log of a full disk lacks.
struct Writer {
  int log;
  size_t lost = 0;

  bool write_all(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t written = ::write(log, text.data(), text.size());
      if (written < 0 && errno == EINTR) continue;
      if (written <= 0) return false;
      text.remove_prefix(static_cast<size_t>(written));
    }
    return true;
  }
  void add(std::string_view text) {
    if (text.empty()) return;
    if (lost > 0) {
      if (!write_all(fmt::format("\n[launch] {} bytes of the log are lost: they could not be written\n", lost))) {
        lost += text.size();
        return;
      }
      lost = 0;
    }
    if (!write_all(text)) lost += text.size();
  }
};

[[noreturn]] void relay(int from, int log, const Redactor& redactor) {
  prctl(PR_SET_NAME, "linac-log");
  prctl(PR_SET_DUMPABLE, 0);  // the values are in its memory: not for other processes of the account
  Writer writer{log};
  RedactedStream stream(redactor);
  std::string piece(kPieceBytes, '\0');
  for (;;) {
    const ssize_t got = ::read(from, piece.data(), piece.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) break;
    writer.add(stream.take(std::string_view(piece).substr(0, static_cast<size_t>(got))));
  }
  writer.add(stream.end());
  _exit(0);
}

}  // namespace

Descriptor start_log_relay(const Descriptor& log, const Redactor& redactor) {
  int ends[2];
  if (pipe2(ends, O_CLOEXEC) != 0)
    throw environment_error(fmt::format("[launch] no pipe for the log ({})", std::strerror(errno)));
  const Descriptor from(ends[0]);
  Descriptor to(ends[1]);
  const pid_t pid = fork();
  if (pid < 0) throw environment_error(fmt::format("[launch] no process left for the log ({})", std::strerror(errno)));
  if (pid > 0) return to;
  // Of what the supervisor has open, its lock among it, only the two: whoever still holds the lock would be it.
  constexpr int kFrom = 3, kLog = 4;
  const int apart = fcntl(log.get(), F_DUPFD, kLog + 1), other = fcntl(from.get(), F_DUPFD, kLog + 1);
  if (apart < 0 || other < 0 || dup2(other, kFrom) < 0 || dup2(apart, kLog) < 0) _exit(1);
  close_range(kLog + 1, ~0U, 0);
  for (const int standard : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) close(standard);
  relay(kFrom, kLog, redactor);
}

}  // namespace linac::launch
