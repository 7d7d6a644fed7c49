#include "linac/model/kernels/peak.h"

#include <ctime>

#include <algorithm>

#include "linac/model/kernels/row_kernels.h"

namespace linac::kernels {
namespace {

double cpu_seconds() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace

double peak_gflops(Isa isa) {
  constexpr int kTries = 8;
  constexpr double kShortest = 0.02;
  const RowKernels& kernels = row_kernels(isa);
  double best = 0;
  int64_t rounds = 100000;
  for (int i = 0; i < kTries;) {
    const double begin = cpu_seconds();
    const double flop = kernels.multiply_adds(rounds);
    const double seconds = cpu_seconds() - begin;
    if (seconds < kShortest) {
      rounds *= 2;
      continue;
    }
    best = std::max(best, flop / seconds / 1e9);
    ++i;
  }
  return best;
}

}  // namespace linac::kernels
