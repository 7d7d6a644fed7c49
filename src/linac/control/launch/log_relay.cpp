#include "linac/control/launch/log_relay.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "linac/base/base/child_process.h"
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

int relay(int from, int log, const Redactor& redactor) {
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
  return 0;
}

}  // namespace

Descriptor start_log_relay(const Descriptor& log, const Redactor& redactor) {
  Pipe pipe = make_pipe();
  if (!pipe) throw environment_error(fmt::format("[launch] no pipe for the log ({})", std::strerror(errno)));
  // Of what the supervisor has open, its lock among it, only the two: whoever still holds the lock would be it.
  ProcessStart start = run_in_child([&] { return relay(STDIN_FILENO, STDOUT_FILENO, redactor); },
                                    {.in = pipe.from.get(), .out = log.get(), .errors = ChildSettings::kNothing});
  if (!start) throw environment_error(fmt::format("[launch] no process left for the log ({})", start.why()));
  start.process.release();
  return std::move(pipe.to);
}

}  // namespace linac::launch
