#include "linac/cli/common/handed_program.h"

#include <malloc.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cstdio>
#include <iostream>

#include "linac/base/base/program_start.h"
#include "linac/base/base/signals.h"
#include "linac/cli/common/command_line.h"

namespace linac::cli {

void run_handed_program(int argc, char** argv, void (*add)(CLI::App&),
                        const std::function<void(std::string_view what, int exit_status)>& failed) {
  begin_program();
  // A verb that saves something when it is stopped catches them once it has something; until then, and with the others,
  // they end it with the same status.
  end_at_stop_signals();
  prctl(PR_SET_NAME, "linac");  // as its users started it
  // A step, and a batch of events, allocates and frees gigabytes of the same sizes again and again; given back to the
  // system each time, they would cost a tenth of it in page faults. One arena, because the others cannot hold large
  // blocks.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  const auto app = parser();
  add(*app);
  const int status = run(*app, argc, argv, failed);
  // What is ours has ended with its scope. LibTorch's destructors take every operator out of its tables again, one by
  // one: a third of what a short command takes.
  std::cout.flush();
  std::fflush(nullptr);
  _exit(status);
}

}  // namespace linac::cli
