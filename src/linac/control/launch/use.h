#pragma once
// What an attempt uses, as far as whoever carries it out can tell. Plain values; what is not known is left out.

#include <cstdint>
#include <optional>
#include <vector>

#include "linac/base/energy/gpu_meter.h"

namespace linac::launch {

struct HostUse {
  double busy_s = 0;               // of all cores together, since boot
  int64_t memory_bytes = 0;        // that is not available to others
  std::optional<double> energy_j;  // of processors and their memory, since the first reading; none if it is not told
};

struct AttemptUse {
  std::optional<double> cpu_s;                       // so far, of the processes that live
  std::optional<int64_t> memory_bytes;               // resident now
  std::optional<int64_t> read_bytes, written_bytes;  // of storage, so far
  std::optional<HostUse> host;                       // the whole host, where it is but one
  std::vector<energy::GpuUse> gpus;                  // the attempt's own
};

}  // namespace linac::launch
