#include "linac/train/workers/worker_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "linac/base/base/error.h"
#include "linac/base/base/signals.h"
#include "linac/train/workers/worker_error.h"

namespace linac::launch {
namespace {

Error failed(const char* call, int error) {
  return environment_error(
      fmt::format("[launch] cannot start a worker ({}: {}); raise the limits of processes or open "
                  "files, or use fewer workers",
                  call, std::strerror(error)));
}

}  // namespace

WorkerProcess start_worker_process(const WorkerCommand& command) {
  WorkerProcess worker;
  int errors[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, errors) != 0) throw failed("socketpair", errno);
  worker.error = Descriptor(errors[0]);
  const Descriptor its_error = above_streams(Descriptor(errors[1]));
  if (!its_error) throw failed("fcntl", errno);
  ChildSettings settings{
      .inherited = {its_error.get()}, .others = ChildSettings::Others::kKept, .death_signal = SIGTERM};
  Descriptor its_output;
  if (command.output == Output::kCapture) {
    Pipe pipe = make_pipe();
    if (!pipe) throw failed("pipe", errno);
    worker.output = std::move(pipe.from);
    its_output = std::move(pipe.to);
    fcntl(worker.output.get(), F_SETFL, O_NONBLOCK);
    settings.in = ChildSettings::kNothing;
    settings.out = settings.errors = its_output.get();
  }
  auto changes = command.environment;
  changes.emplace_back(kErrorFdVariable, std::to_string(its_error.get()));
  ProcessStart start;
  {
    const HeldStopSignals until_it_heeds_them;
    start = start_program({.words = command.argv,
                           .path = command.program,
                           .environment = environment_with(changes),
                           .signals = Program::Signals::kSame},
                          settings);
  }
  if (!start.process) throw failed(start.failed, start.error);
  if (!start) {
    const std::string told = "127\n[launch] cannot execute " + command.program;
    send(its_error.get(), told.data(), told.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
  }
  worker.child = std::move(start.process);
  return worker;
}

}  // namespace linac::launch
