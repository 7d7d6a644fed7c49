#include <malloc.h>
#include <sys/prctl.h>

#include "linac/cli/compute/program.h"

int main(int argc, char** argv) {
  prctl(PR_SET_NAME, "linac");  // as its users started it
  // A step allocates and frees gigabytes of the same sizes again and again; given back to the system each time, they
  // would cost a tenth of it in page faults. One arena, because the others cannot hold large blocks.
  mallopt(M_ARENA_MAX, 1);
  mallopt(M_MMAP_THRESHOLD, 1 << 30);
  mallopt(M_TRIM_THRESHOLD, -1);
  return linac::cli::run_command_line(argc, argv);
}
