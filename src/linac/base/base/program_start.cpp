#include "linac/base/base/program_start.h"

#include <fcntl.h>
#include <unistd.h>

#include <csignal>

namespace linac {

void begin_program() {
  for (int number = STDIN_FILENO; number <= STDERR_FILENO; ++number)
    if (fcntl(number, F_GETFD) < 0) static_cast<void>(open("/dev/null", O_RDWR));  // takes the lowest free number
  std::signal(SIGXFSZ, SIG_IGN);
}

}  // namespace linac
