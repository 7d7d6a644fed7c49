// The supervisor alone, as a program for tests.

#include <cstdio>

#include "linac/control/launch/supervisor.h"

int main(int argc, char** argv) {
  if (argc != 2) {
    std::fputs("expected the folder of an attempt\n", stderr);
    return 2;
  }
  return linac::launch::supervise(argv[1]);
}
